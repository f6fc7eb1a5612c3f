"""A lookup table is an argument, and can learn.

Tables do not belong on an instance: calls are made on the class, and backward knows only arguments and ctx. Passed
as an argument the table gets a gradient: row k receives the sum of what came back to every place that looked up k.
"""

import pullback as pb


class Lookup(pb.Function):
    """y[n] = table[index[n]]."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.rows = table.shape[0]
        return pb.take(table, index, axis=0)

    @staticmethod
    def backward(ctx, grad_y):
        (index,) = ctx.saved_tensors
        row = pb.reshape(pb.arange(ctx.rows), (ctx.rows, 1))
        looked_up = pb.astype(row == index, grad_y.dtype)  # one where place n looked up row k
        return looked_up @ grad_y, None


def main(show=print):
    table = pb.tensor([10.0, 20.0, 30.0], requires_grad=True)
    index = pb.tensor([2, 0, 2])
    weights = pb.tensor([1.0, 2.0, 4.0])
    y = Lookup.apply(table, index)
    (grad_table,) = pb.autograd.grad(y, table, weights, retain_graph=True)  # the picture shows what is saved
    show("y", y, "should be", [30.0, 10.0, 30.0])
    show("gradient of the table", grad_table, "should be", [2.0, 0.0, 1.0 + 4.0])
    show("gradcheck", pb.gradcheck(Lookup.apply, (table, index)))
    show("gradgradcheck", pb.gradgradcheck(Lookup.apply, (table, index)))
    return {"table": table, "y": y}


if __name__ == "__main__":
    main()
