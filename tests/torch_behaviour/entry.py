"""What each test of this folder is about: an entry in the lists of `entries/`.

``entries/A.txt`` and its neighbours list, by name, what PyTorch's own tests of autograd assert.  Each line is a code, a
name and, where nothing covers it, the reason after a dash::

    P function_returns_input
    A hooks_cpp - a test of batch normalisation, which is not offered

**P** can be met by any engine, **A** after a small adaptation, **V** with views and writes in place, **F** with forward mode.
The tests are our own: programs written from the sentence that says what must hold.
"""

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def entry(section: str, *names: str, differs: str = "") -> Callable[[Test], Test]:
    """Say which entries of a section a test covers; `differs` is what it asserts instead, and why, where that is not torch's.

    `coverage.py` reads these from the source, so the arguments are literals.
    """

    def same(test: Test) -> Test:
        return test

    return same
