"""A costly resource is an argument too.

Here the resource is a matrix with its inverse. It is made by ordinary code, may be shared by many calls, and arrives
in forward like a number would: set on the ctx for backward, with gradient None. No instance of the Function is needed.
"""

import numpy as np

import pullback as pb


class Solver:
    """Solves A y = b for one matrix A, with the costly part done once."""

    made = 0

    def __init__(self, matrix):
        Solver.made += 1
        self.inverse = np.linalg.inv(matrix)

    def solve(self, b, transposed):
        return (self.inverse.T if transposed else self.inverse) @ b


class Solve(pb.Function):
    """y = A⁻¹ b.  Linear in b, so its gradient is the same operation with A transposed, to any order."""

    @staticmethod
    def forward(ctx, b, solver, transposed=False):
        ctx.solver, ctx.transposed = solver, transposed
        return pb.tensor(solver.solve(b.numpy(), transposed))

    @staticmethod
    def backward(ctx, grad_y):
        return Solve.apply(grad_y, ctx.solver, not ctx.transposed), None, None


def main(show=print):
    Solver.made = 0
    solver = Solver(np.array([[2.0, 1.0], [0.0, 4.0]]))
    b = pb.tensor([3.0, 4.0], requires_grad=True)
    y = Solve.apply(b, solver)
    show("y", y, "should be", [1.0, 1.0])

    # A function of y, to have a second derivative: |y|², with gradient 2 A⁻ᵀ y and Hessian 2 A⁻ᵀ A⁻¹.
    (db,) = pb.autograd.grad((y * y).sum(), b, create_graph=True)
    (row,) = pb.autograd.grad(db[0], b)
    show("gradient of |y|²", db, "should be", [1.0, 0.25])
    show("first row of its Hessian", row, "should be", [0.5, -0.125])
    show("gradcheck", pb.gradcheck(lambda b: Solve.apply(b, solver), (b,)))
    show("gradgradcheck", pb.gradgradcheck(lambda b: Solve.apply(b, solver) ** 2, (b,)))
    show("matrices inverted in all these calls", Solver.made, "should be", 1)
    return {"b": b, "y": y, "d|y|²/db": db}


if __name__ == "__main__":
    main()
