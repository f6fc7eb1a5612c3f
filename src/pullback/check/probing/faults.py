"""Every fault that a probe can name: what it is, why it matters, what to write instead.  The order is that of causes first."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One kind of fault."""

    summary: str
    why: str
    instead: str
    rules: tuple[str, ...] = ()  # of `pullback lint`, that show it in the source


_REMEDY = (
    "save inputs or outputs and compute the rest again in backward; or return the value as another output; or write backward "
    "as a Function of its own"
)

CATALOGUE: dict[str, Entry] = {
    "forward-raises": Entry(
        "forward raises for these inputs",
        "nothing can be said about a function that has no value here.",
        'inputs that the function is made for: --inputs "...", or a `samples` function beside the class.',
    ),
    "random-forward": Entry(
        "the function is not deterministic: the same inputs give different values",
        "the rule may be right, but nothing can be compared with it, and a checkpoint computes another function.",
        "draw random numbers outside and hand them over as an argument, or seed a generator of your own in forward.",
    ),
    "input-written": Entry(
        "forward writes into an argument without saying so",
        "whoever uses that argument afterwards computes with new values and gets the gradient of the old ones.",
        "ctx.mark_dirty(x) and return x; or write into a copy.",
        ("PB401",),
    ),
    "state-on-class": Entry(
        "calls share state: the class changes in a call",
        "of two calls before the first backward, the first reads what the second left.",
        "ctx.save_for_backward(...) for Tensors, ctx.name = ... for anything else.",
        ("PB601", "PB602"),
    ),
    "state-shared": Entry(
        "calls share state: crossed calls disturb each other",
        "of two calls before the first backward, in a loop or in threads, the first gets gradients of the second.",
        "ctx.save_for_backward(...) for Tensors, ctx.name = ... for anything else; nothing on class, module or closure.",
        ("PB603", "PB601", "PB602"),
    ),
    "captured-tensor": Entry(
        "a differentiable Tensor comes in through a closure or a global name",
        "only arguments of apply get gradients; this one silently gets none.",
        "make it an argument of forward, and return its gradient.",
        ("PB503",),
    ),
    "container-output": Entry(
        "forward returns a list or a dict",
        "the Tensors in it have no history.",
        "a tuple.",
        ("PB308",),
    ),
    "backward-raises": Entry(
        "backward raises",
        "there is no gradient at all.",
        "see the error; it is the rule's own.",
        ("PB206", "PB302", "PB301", "PB309", "PB205", "PB104", "PB105"),
    ),
    "undefined-cotangent": Entry(
        "backward mishandles an incoming gradient that is not there",
        "with set_materialize_grads(False) an output that nobody used arrives as None.",
        "ask `if grad is not None`, or leave materialising on.",
    ),
    "gradient-count": Entry(
        "backward returns another number of gradients than forward has arguments",
        "each gradient belongs to the argument at its place; a shifted one is another argument's.",
        "one gradient for each argument of forward, None for those that have none.",
        ("PB301",),
    ),
    "gradient-shape": Entry(
        "a gradient has another shape than its argument",
        "torch sums what happens to fit, silently; the result is off by the number of copies.",
        "sum over the axes along which the argument was broadcast: grad.sum(axis), or sum_to_size(x.shape).",
    ),
    "gradient-dtype": Entry(
        "a gradient has another dtype than its argument",
        "torch casts it silently: precision is lost, or memory doubled.",
        "compute in the dtype of the argument; no fixed .float().",
    ),
    "precision-lost": Entry(
        "double-precision inputs give single-precision results",
        "half of the digits are lost, silently.",
        "no fixed .float() or dtype=float32 in forward: x.dtype.",
    ),
    "saved-value-written": Entry(
        "backward writes into a saved value",
        "a saved argument belongs to the caller, and a second backward reads it again.",
        "a new value instead of an in-place method.",
        ("PB404",),
    ),
    "not-repeatable": Entry(
        "a second backward pass gives another result",
        "retain_graph, higher derivatives and Jacobians pull back through the same node several times.",
        "leave what was saved as it is; keep nothing that changes between passes.",
        ("PB404", "PB603"),
    ),
    "upstream-missing": Entry(
        "backward does not multiply by the incoming gradient",
        "the result is right only where the incoming gradient happens to be 1.",
        "grad_output * derivative.",
        ("PB303",),
    ),
    "gradient-missing": Entry(
        "an argument on which the result depends gets no gradient",
        "None means no derivative; the engine takes it for zero, and training just does not move.",
        "the gradient of this argument; or make it a plain value that requires none.",
        ("PB310", "PB306", "PB301", "PB304"),
    ),
    "not-linear": Entry(
        "backward is not linear in the incoming gradient",
        "a vector-Jacobian product is linear in the vector; what is clipped, squared or normalised depends on the scale of the "
        "loss and on how a batch is split.",
        "a product with the incoming gradient, nothing curved.",
        ("PB307",),
    ),
    "wrong-gradient": Entry(
        "the gradient is wrong",
        "every number that is computed from it is wrong.",
        "the rule: incoming gradient times derivative, summed over what was broadcast.",
        ("PB305", "PB306", "PB304", "PB310"),
    ),
    "kink": Entry(
        "at a kink the gradient lies outside of the two one-sided slopes",
        "any value between them is a subgradient; another one is no derivative of anything.",
        "one of the one-sided slopes, or a value between them.",
    ),
    "subset-raises": Entry(
        "backward raises when only some arguments need a gradient",
        "freezing a parameter is the most usual thing to do.",
        "compute each gradient under its own `if ctx.needs_input_grad[k]`.",
        ("PB306",),
    ),
    "subset-none": Entry(
        "an argument gets no gradient when it alone needs one",
        "None means zero to the engine: freezing the others stops the training of this one.",
        "ask ctx.needs_input_grad[k] for the k-th argument of forward, ctx not counted.",
        ("PB306",),
    ),
    "cotangent-written": Entry(
        "backward writes into the incoming gradient",
        "the same array may go to another branch or belong to the caller: both get wrong numbers.",
        "a new value: grad * ..., or grad.clone() first.",
        ("PB403",),
    ),
    "jvp-disagrees": Entry(
        "jvp and backward are not transposes of each other",
        "forward mode and reverse mode give different derivatives of one function.",
        "jvp(v) = J v, backward(w) = J^T w, for the same J.",
    ),
    "layout-dependent": Entry(
        "the result depends on how an array lies in memory",
        "a transposed or expanded incoming gradient is what sum() and .T give; a kernel that walks memory reads other numbers.",
        "make it contiguous before reading memory: grad.contiguous().",
    ),
    "broadcast-fails": Entry(
        "gradients are wrong or raise for arguments that broadcast",
        "forward takes them.",
        "sum each gradient over the axes along which its argument was broadcast.",
    ),
    "empty-fails": Entry(
        "backward raises for an empty or a 0-d array that forward takes",
        "empty batches and scalars occur in every program.",
        "operations that take any shape.",
    ),
    "derivative-by-hand": Entry(
        "the derivative is not the one that was written by hand",
        "one of the two is wrong; the check tells which.",
        "see the numbers.",
    ),
    "intermediate-saved": Entry(
        "the second derivative is wrong: a value computed in forward is saved",
        "recording is off inside forward, so what flows through this value is missing at second order, silently.",
        _REMEDY,
        ("PB201",),
    ),
    "intermediate-on-ctx": Entry(
        "the second derivative is wrong: a value computed in forward is kept on ctx",
        "recording is off inside forward, so what flows through this value is missing at second order, silently.",
        _REMEDY,
        ("PB202",),
    ),
    "once-differentiable-leaks": Entry(
        "once_differentiable does not stop every second differentiation",
        "the error node has no edges to the inputs: torch.autograd.grad goes around it and returns a part of the derivative.",
        "a backward made of recorded operations, or a second Function; then nothing has to be forbidden.",
    ),
    "graph-left-in-backward": Entry(
        "the second derivative is wrong: backward leaves the graph",
        "what went through NumPy, .detach(), .data or .item() is a constant for the next pass, silently.",
        "@once_differentiable below @staticmethod, or a second Function that backward calls.",
        ("PB501", "PB502"),
    ),
    "wrong-second-derivative": Entry(
        "the second derivative is wrong",
        "Hessians, gradient penalties and gradients of gradients are wrong, silently.",
        "backward is itself a function: see which of its terms lacks a derivative.",
        ("PB305", "PB501", "PB502", "PB201", "PB202"),
    ),
    "order-not-kept": Entry(
        "the Function declares more orders than it has",
        "users rely on what a class says of itself.",
        "a backward that can be differentiated that often, or a smaller `order`.",
    ),
    "dtype-fails": Entry(
        "backward raises, or is far off, in a dtype that forward takes",
        "programs run in float32 and in half precision.",
        "operations in the dtype of the arguments; sums in a wider one.",
    ),
    "nan-gradient": Entry(
        "the gradient is NaN or infinite where a finite one exists",
        "one NaN in a batch makes every parameter NaN.",
        "shield the branch that is not taken (where before and after), or a form that is finite there.",
    ),
    "overflow": Entry(
        "the value overflows where the function does not",
        "large inputs occur; a stabler form of the same function stays finite.",
        "subtract the maximum before exp, use log1p, expm1, logaddexp, softplus.",
    ),
    "tensor-on-ctx": Entry(
        "an argument or a result is kept as an attribute of ctx",
        "it is not freed with the graph, a later write to it is not noticed, and hooks and checkpoints do not see it.",
        "ctx.save_for_backward(x).",
        ("PB203",),
    ),
    "leak": Entry(
        "a call is never freed",
        "memory grows with every call whose backward does not run.",
        "ctx.save_for_backward for results; no reference from a result to its own ctx.",
        ("PB203",),
    ),
    "mode-changes-result": Entry(
        "a mode changes what the function gives",
        "no_grad, inference mode, checkpoints and hooks must not change values or gradients.",
        "no question about modes in forward.",
    ),
    "transform-fails": Entry(
        "a transform that the class claims to support fails or gives another result",
        "generate_vmap_rule and vmap are promises.",
        "operations only, no data-dependent control flow; or a vmap rule of its own.",
    ),
}

ORDER = {name: k for k, name in enumerate(CATALOGUE)}
