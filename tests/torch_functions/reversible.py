"""Memory for time: reversible blocks, checkpoints, adjoint integration."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, normal, positive


def mix(x, w):
    return torch.tanh(x @ w)


class ReversibleBlock(Function):
    """RevNet: backward rebuilds the inputs and runs grad() on small graphs."""

    @staticmethod
    def forward(ctx, x, wf, wg):
        with torch.no_grad():
            x1, x2 = torch.chunk(x, 2, dim=1)
            y1 = x1 + mix(x2, wf)
            y2 = x2 + mix(y1, wg)
        ctx.save_for_backward(y1.detach(), y2.detach(), wf, wg)
        return torch.cat([y1, y2], dim=1)

    @staticmethod
    def backward(ctx, dy):
        y1, y2, wf, wg = ctx.saved_tensors
        dy1, dy2 = torch.chunk(dy, 2, dim=1)
        with torch.enable_grad():
            z1 = y1.detach().requires_grad_()
            wg_ = wg.detach().requires_grad_()
            gz = mix(z1, wg_)
            gz.backward(dy2)
        with torch.no_grad():
            x2 = y2 - gz
            d1 = dy1 + z1.grad
        with torch.enable_grad():
            x2_ = x2.detach().requires_grad_()
            wf_ = wf.detach().requires_grad_()
            fz = mix(x2_, wf_)
            torch.autograd.backward(fz, d1)
        with torch.no_grad():
            d2 = dy2 + x2_.grad
        return torch.cat([d1, d2], dim=1), wf_.grad, wg_.grad


class AffineCoupling(Function):
    """A flow's layer; backward recovers the input from the output."""

    @staticmethod
    def forward(ctx, x, s, t):
        x1, x2 = x.chunk(2, dim=-1)
        y2 = x2 * torch.exp(s) + t
        y = torch.cat([x1, y2], -1)
        ctx.save_for_backward(y, s, t)
        return y, s.sum(-1)

    @staticmethod
    def backward(ctx, gy, glogdet):
        y, s, t = ctx.saved_tensors
        _, y2 = y.chunk(2, dim=-1)
        g1, g2 = gy.chunk(2, dim=-1)
        es = torch.exp(s)
        x2 = (y2 - t) / es
        gs = g2 * x2 * es + glogdet.unsqueeze(-1)
        return torch.cat([g1, g2 * es], -1), gs, g2


class CheckpointFunction(Function):
    """torch's own of old: detached copies, a forward in backward, .grad of the copies."""

    @staticmethod
    def forward(ctx, run_function, *args):
        ctx.run_function = run_function
        ctx.save_for_backward(*args)
        with torch.no_grad():
            outputs = run_function(*args)
        return outputs

    @staticmethod
    def backward(ctx, *args):
        inputs = ctx.saved_tensors
        detached = []
        for x in inputs:
            d = x.detach()
            d.requires_grad = x.requires_grad
            detached.append(d)
        with torch.enable_grad():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        torch.autograd.backward(outputs, args)
        return (None,) + tuple(inp.grad for inp in detached)


class CheckpointHigher(Function):
    """The same with grad() on the saved inputs themselves: any order."""

    @staticmethod
    def forward(ctx, run_function, length, *args):
        ctx.run_function = run_function
        ctx.input_tensors = list(args[:length])
        ctx.input_params = list(args[length:])
        with torch.no_grad():
            output_tensors = ctx.run_function(*ctx.input_tensors, *ctx.input_params)
        return output_tensors

    @staticmethod
    def backward(ctx, *output_grads):
        create = torch.is_grad_enabled()
        with torch.enable_grad():
            shallow = [x.view_as(x) for x in ctx.input_tensors]
            output = ctx.run_function(*shallow, *ctx.input_params)
        grads = torch.autograd.grad(
            output, shallow + ctx.input_params, output_grads, allow_unused=True, create_graph=create
        )
        return (None, None) + grads


def block(x, w):
    return torch.sin(x * w).cumsum(0) * x


class OdeEuler(Function):
    """dz/dt = tanh(z W), Euler steps; the adjoint walks the kept states backwards."""

    @staticmethod
    def forward(ctx, z, W, steps, dt):
        states = [z]
        for _ in range(steps):
            z = z + dt * torch.tanh(z @ W)
            states.append(z)
        ctx.save_for_backward(W, *states)
        ctx.dt = dt
        return z

    @staticmethod
    def backward(ctx, a):
        W, *states = ctx.saved_tensors
        gW = torch.zeros_like(W)
        for z in reversed(states[:-1]):
            slope = 1 - torch.tanh(z @ W) ** 2
            local = a * slope * ctx.dt
            gW = gW + z.t() @ local
            a = a + local @ W.t()
        return a, gW, None, None


class OdeAdjointInnerGrad(Function):
    """Neural ODE: the adjoint system by vjps of the vector field, in no_grad, rebuilt backwards in time."""

    @staticmethod
    def forward(ctx, func, y0, theta, steps, dt):
        with torch.no_grad():
            y = y0
            for _ in range(steps):
                y = y + dt * func(y, theta)
        ctx.func, ctx.steps, ctx.dt = func, steps, dt
        ctx.save_for_backward(y0, theta)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        y0, theta = ctx.saved_tensors
        func, dt = ctx.func, ctx.dt
        with torch.no_grad():
            states = [y0]
            for _ in range(ctx.steps - 1):
                states.append(states[-1] + dt * func(states[-1], theta))
            adj_theta = torch.zeros_like(theta)
            for y in reversed(states):
                with torch.enable_grad():
                    y = y.detach().requires_grad_(True)
                    th = theta.detach().requires_grad_(True)
                    f = func(y, th)
                    vjp_y, vjp_th = torch.autograd.grad(f, (y, th), grad_y, allow_unused=True, retain_graph=True)
                grad_y = grad_y + dt * vjp_y
                adj_theta = adj_theta + dt * vjp_th
        return None, grad_y, adj_theta, None, None


def spring(y, theta):
    return torch.stack([y[1], -theta * torch.sin(y[0])])


class LeapfrogReversible(Function):
    """Position and velocity, recovered backwards from the end without anything in between."""

    @staticmethod
    def forward(ctx, q, p, k, steps, dt):
        for _ in range(steps):
            p = p - 0.5 * dt * k * q
            q = q + dt * p
            p = p - 0.5 * dt * k * q
        ctx.save_for_backward(q, p, k)
        ctx.steps, ctx.dt = steps, dt
        return q, p

    @staticmethod
    def backward(ctx, gq, gp):
        q, p, k = ctx.saved_tensors
        dt = ctx.dt
        gk = torch.zeros_like(k)
        for _ in range(ctx.steps):
            gk = gk - (0.5 * dt * q * gp).sum()
            gq = gq - 0.5 * dt * k * gp
            p = p + 0.5 * dt * k * q
            gp = gp + dt * gq
            q = q - dt * p
            gk = gk - (0.5 * dt * q * gp).sum()
            gq = gq - 0.5 * dt * k * gp
            p = p + 0.5 * dt * k * q
        return gq, gp, gk, None, None


class EfficientConcat(Function):
    """DenseNet: concatenated into memory made before."""

    @staticmethod
    def forward(ctx, *inputs):
        ctx.sizes = [x.size(1) for x in inputs]
        n, total = inputs[0].size(0), sum(ctx.sizes)
        out = torch.empty(n, total, dtype=inputs[0].dtype)
        out.copy_(torch.cat(inputs, dim=1))
        return out

    @staticmethod
    def backward(ctx, g):
        grads, start = [], 0
        for size in ctx.sizes:
            grads.append(g.narrow(1, start, size))
            start += size
        return tuple(grads)


CASES = [
    Case(
        "reversible block",
        ReversibleBlock.apply,
        (normal(2, 4), normal(2, 2, scale=0.5), normal(2, 2, scale=0.5)),
        torch_second="wrong",
        refused="second",
    ),
    Case("affine coupling", AffineCoupling.apply, (normal(2, 4), normal(2, 2), normal(2, 2))),
    Case(
        "checkpoint of old",
        lambda x, w: CheckpointFunction.apply(block, x, w),
        (normal(3), positive(3)),
        torch_second="wrong",
        refused="second",
    ),
    Case("checkpoint of any order", lambda x, w: CheckpointHigher.apply(block, 1, x, w), (normal(3), positive(3))),
    Case(
        "euler with adjoint",
        lambda z, w: OdeEuler.apply(z, w, 3, 0.2),
        (normal(2, 2), normal(2, 2)),
        torch_second="wrong",
    ),
    Case(
        "ode adjoint by inner grad",
        lambda y, t: OdeAdjointInnerGrad.apply(spring, y, t, 4, 0.1),
        (normal(2), positive()),
        torch_second="wrong",
        refused="second",
    ),
    Case("leapfrog", lambda q, p, k: LeapfrogReversible.apply(q, p, k, 3, 0.2), (normal(2), normal(2), positive())),
    Case("shared concatenation", EfficientConcat.apply, (normal(2, 1), normal(2, 3))),
]
