"""Families of operators: say less than the rule, and get the rule, its forward mode and its speed.

`unary` and `binary` take the partial derivatives of an elementwise operator.  The parameter names of a partial say
what it needs, and so what is saved: ``x`` (or ``a``, ``b``) inputs, ``y`` the result, ``xp`` the namespace.  What comes
out is a `Primitive` like any other, with a shorter path through ``apply`` and ``pull`` for the usual case: real NumPy
arrays.  `nary` does the same for any number of arguments, without the shorter path, and may refuse a derivative.
`constant` makes operators without derivative.
"""

from pullback.ops.families.constants import constant
from pullback.ops.families.elementwise import MINUS_ONE, ONE, ZERO, Elementwise, carry, chosen, select, without_graph
from pullback.ops.families.functions import function_of, introduce, is_operand
from pullback.ops.families.of_many import Refused, nary
from pullback.ops.families.of_one import unary
from pullback.ops.families.of_two import as_arrays, binary

__all__ = [
    "MINUS_ONE",
    "ONE",
    "ZERO",
    "Elementwise",
    "Refused",
    "as_arrays",
    "binary",
    "carry",
    "chosen",
    "constant",
    "function_of",
    "introduce",
    "is_operand",
    "nary",
    "select",
    "unary",
    "without_graph",
]
