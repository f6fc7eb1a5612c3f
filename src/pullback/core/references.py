"""Who else holds an object?  What `sys.getrefcount` says of one that is held once, whatever the Python."""

from __future__ import annotations

from sys import getrefcount

_probe = [object()]
#: Of an object that one list holds and nobody else.
IN_A_LIST = getrefcount(_probe[0])


def _in_a_variable() -> int:
    thing = object()
    return getrefcount(thing)


#: Of an object that one variable of a function holds.
IN_A_VARIABLE = _in_a_variable()
