"""Random programs in forward mode: tangents, and both orders of mixing with backward, are the derivatives that backward finds.

The same programs as in `test_differential.py`: user rules, views, writes, transformations inside.
"""

import numpy as np
import pytest

import pullback as pb
from fuzz.programs import Program
from pullback.autograd import grad
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual

PROGRAMS = range(150)


def tangent(y):
    found = unpack_dual(y).tangent
    return pb.tensor(0.0) if found is None else found


def contracted(derivatives, direction):
    return sum(pb.sum(d * pb.asarray(w)) for d, w in zip(derivatives, direction, strict=True))


def moving(program, leaves, direction):
    return [make_dual(x, pb.asarray(w)) for x, w in zip(leaves, direction, strict=True)]


def leaves_of(program, requires_grad):
    return [pb.tensor(part, requires_grad=requires_grad) for part in program.point]


def over_reverse(program, order):
    """The tangent of a derivative of one order less."""
    leaves = leaves_of(program, True)
    value = program.value(*moving(program, leaves, program.directions[order - 1]))
    for number, direction in enumerate(program.directions[: order - 1], 1):
        value = contracted(grad(value, leaves, create_graph=number < order - 1, materialize_grads=True), direction)
    return tangent(value).item()


def over_forward(program, order):
    """The derivative of a tangent."""
    leaves = leaves_of(program, True)
    value = tangent(program.value(*moving(program, leaves, program.directions[0])))
    for number, direction in enumerate(program.directions[1:order], 2):
        if not value.requires_grad:
            return 0.0
        value = contracted(grad(value, leaves, create_graph=number < order, materialize_grads=True), direction)
    return value.detach().item()


def alone(program, order):
    """A first tangent with nothing recorded."""
    with pb.no_grad():
        return tangent(program.value(*moving(program, leaves_of(program, False), program.directions[0]))).item()


@pytest.mark.parametrize("number", PROGRAMS)
def test_forward_mode_agrees_with_backward(number):
    program = Program(number)
    for order in (1, 2, 3):
        try:
            expected = program.directional(order, program.point)
        except RuntimeError:  # it is refused, or writes into a leaf
            return
        quiet = order == 1 and "requires_grad" not in str(program)
        ways = [over_reverse, over_forward] + [alone] * quiet
        for way in ways:
            with dual_level():
                found = way(program, order)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=f"{way.__name__}\n{program}")
