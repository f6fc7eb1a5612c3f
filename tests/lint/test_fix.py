"""``--fix`` repairs what cannot change a meaning, and leaves every other character as it was."""

import pytest

from pullback.cli import main
from pullback.lint import lint_text
from pullback.lint.fix import fixed

pytest.importorskip("libcst")

BEFORE = '''\
from torch.autograd import Function   # the head stays


class Product(Function):
    """self stays in a docstring."""

    # a comment above
    def forward(self, x, y):
        self.save_for_backward(x, y)   # and here
        return x * y

    @staticmethod
    def backward( self , grad ):
        x, y = self.saved_tensors
        helper(self=1, x=x.self)
        return [grad * y,
                grad * x]

    def other(self):
        return self
'''

AFTER = '''\
from torch.autograd import Function   # the head stays


class Product(Function):
    """self stays in a docstring."""

    # a comment above
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)   # and here
        return x * y

    @staticmethod
    def backward( ctx , grad ):
        x, y = ctx.saved_tensors
        helper(self=1, x=x.self)
        return (grad * y,
                grad * x)

    def other(self):
        return self
'''


def test_the_repairs_and_nothing_else():
    assert fixed(BEFORE, lint_text(BEFORE)) == AFTER
    assert lint_text(AFTER) == []


def test_what_is_right_stays_as_it_is():
    assert fixed(AFTER, lint_text(AFTER)) == AFTER


def _function(*body):
    return (
        "from torch.autograd import Function\nclass F(Function):\n" + "\n".join("    " + line for line in body) + "\n"
    )


FORWARD = ("@staticmethod", "def forward(ctx, x):", "    return 2 * x")


def test_one_gradient_in_a_list_becomes_a_tuple_of_one():
    text = _function(*FORWARD, "@staticmethod", "def backward(ctx, g):", "    return [2 * g]")
    assert fixed(text, lint_text(text)).endswith("return (2 * g,)\n")


def test_a_method_that_has_a_ctx_already_is_not_renamed():
    text = _function("@staticmethod", "def forward(self, x):", "    ctx = 1", "    return 2 * x")
    assert fixed(text, lint_text(text)) == text


def test_excused_lines_are_not_repaired():
    text = BEFORE.replace("def forward(self, x, y):", "def forward(self, x, y):  # noqa")
    assert "@staticmethod\n    def forward" not in fixed(text, lint_text(text))


def test_the_command_repairs_files_in_place(tmp_path, capsys):
    file = tmp_path / "f.py"
    file.write_text(BEFORE)
    assert main(["lint", str(file), "--fix"]) == 0
    assert file.read_text() == AFTER
    assert capsys.readouterr().out == "nothing found in 1 file; 4 repaired\n"
