"""Where a probe of `conformance/probes.json` does not print what torch 2.13 printed, and why.

A difference is deliberate where torch is silently wrong or where another answer is clearer.  `NOT_OFFERED` are things
of torch that this library does not have (yet).  `tests/test_conformance.py` fails when an entry starts to agree, and
when a probe that stands in neither table disagrees.
"""

DELIBERATE = {
    # -------------------------------------------------------------------------------- Function and ctx
    "a2": "needs_input_grad in backward is narrowed to what the running pass asks for: unneeded work can be skipped",
    "a25": "a saved intermediate is recomputed with recording on, so the second derivative exists",
    "a26": "a saved intermediate is recomputed with recording on: the second derivative is right, not half of it",
    "a42": "an input written without mark_dirty is refused: its users would see new values with the old gradient",
    "a61": "a dict of Tensors returned by forward is refused: torch loses their gradients silently",
    "a68": "a differentiable Tensor inside a list argument is refused: torch loses its gradient silently",
    "a85": "the derivative of a once_differentiable Function is connected: differentiating it again always raises",
    "a87": "differentiating a once_differentiable Function twice raises; torch gives a wrong number silently",
    "q4": "mark_dirty called twice: the first input is written but no longer declared, which is refused (see a42)",
    # -------------------------------------------------------------------------------- engine
    "e16": "x.data = ... counts as a write, so that what was saved of x is stale: _version is 1",
    "l5": "a cotangent handed to backward is copied before it is written: the caller's seed stays as it was",
    "l36": "what inference_mode makes are ordinary Tensors, so is_inference() is False",
    "l37": "a view whose base became a leaf afterwards is no leaf: its gradient flows to the base",
    "l41": "nodes can be weakly referenced; an output kept on ctx is held weakly, so no garbage collection is needed",
    "m10": "a captured Tensor that has a history keeps it: apply returns an alias instead of the Tensor itself",
    # -------------------------------------------------------------------------------- forward mode
    "k6": "a Function without jvp has a forward mode all the same: it is derived from backward, or refused with a lesson",
    # -------------------------------------------------------------------------------- modes, in-place, views
    "d6": "what inference_mode makes are ordinary Tensors: they may be saved, written and asked for gradients",
    "e7": "a view made without recording does not require gradients; writing through it is refused as in torch",
    "q2": "hooks on saved tensors work inside the transformations of torch.func too",
    "g4": "there is one kind of checkpoint: it is differentiable through captured Tensors, whatever use_reentrant says",
    # -------------------------------------------------------------------------------- gradcheck
    "h2b": "fast mode draws its direction from another generator, so the two projected numbers differ",
    "h11b": "fast mode draws its direction from another generator, so the perturbations differ",
    "h15b": "gradgradcheck of a once_differentiable Function reports the refusal, not a mismatch with zero",
    "h21": "at a kink the rule may give either one-sided slope, so relu passes at 0 (with a warning)",
    "o4": "fast mode draws its direction from another generator, so it misses other errors",
    # -------------------------------------------------------------------------------- NumPy
    "n6": "from_numpy takes the scalars that NumPy returns for 0-d arrays",
    "o19": "a backward that leaves the graph through NumPy has no second derivative; torch gives a wrong number",
}

NOT_OFFERED: dict[str, str] = {}
