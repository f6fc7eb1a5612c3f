"""The programs of `seed_programs/` run as they are, and give the right numbers at first and second order."""

import math
import runpy
import warnings
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import pullback.torch as torch

FOLDER = Path(__file__).parent / "seed_programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def run(name, ignore=()):
    """The names that a program defines, after running it with the same random numbers every time."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        for category in ignore:
            warnings.simplefilter("ignore", category)
        return runpy.run_path(str(FOLDER / f"{name}.py"))


def second(names):
    """The derivative of the sum of ``grad_x`` with respect to ``x``."""
    (found,) = torch.autograd.grad(names["grad_x"].sum(), names["x"], retain_graph=True)
    return found.numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_change_nothing_but_imports(name):
    """Every mention of this library stands in an import line."""
    lines = [line for line in (FOLDER / f"{name}.py").read_text().splitlines() if "pullback" in line]
    assert lines
    assert all(line.startswith(("import pullback.torch", "from pullback.torch")) for line in lines)


def test_square_saves_its_input():
    names = run("square")
    assert names["first"] is True
    assert names["second"] is True
    assert names["grad_x"].item() == 2.0
    assert second(names) == 2.0
    assert "SquareBackward" in names["dot"].source


def test_exp_saves_its_output():
    names = run("exp")
    assert names["first"] is True
    assert names["second"] is True
    assert math.isclose(names["grad_x"].item(), math.e)
    assert math.isclose(second(names).item(), math.e)
    assert "ExpBackward" in names["dot"].source


@pytest.mark.parametrize("name", ["sinh", "sinh_bad"])
def test_sinh_is_right_at_second_order(name):
    """Also where the intermediates only hang on ctx: torch gives no second derivative there, or a wrong one."""
    names = run(name)
    x = names["x"].detach().numpy()
    np.testing.assert_allclose(names["out"].detach().numpy(), np.sinh(x), rtol=1e-14)
    np.testing.assert_allclose(names["grad_x"].detach().numpy(), np.cosh(x), rtol=1e-14)
    np.testing.assert_allclose(second(names), np.sinh(x), rtol=1e-12)
    assert names["Sinh" if name == "sinh" else "SinhBad"].__name__ + "Backward" in names["dot"].source


def test_sinh_bad_passes_both_checks():
    """Since its second derivative is right, gradgradcheck has nothing to complain about."""
    names = run("sinh_bad")
    apply = names["SinhBad"].apply
    assert torch.autograd.gradcheck(apply, names["x"])
    assert torch.autograd.gradgradcheck(apply, names["x"])
    assert torch.autograd.gradgradcheck(lambda x: apply(x) ** 2, names["x"])


def test_cube_writes_its_backward_as_a_function():
    names = run("cube")
    assert names["first"] is True
    assert names["second"] is True
    assert names["out"].item() == 8.0
    assert names["grad_x"].item() == 12.0
    assert second(names) == 12.0
    (third,) = torch.autograd.grad(
        torch.autograd.grad(names["grad_x"], names["x"], create_graph=True)[0], names["x"], create_graph=True
    )
    assert third.item() == 6.0
    assert "CubeBackwardBackward" in names["dot"].source


def test_sigmoid_passes_gradcheck(capsys):
    names = run("sigmoid")
    assert names["test"] is True
    assert capsys.readouterr().out == "Gradcheck passed: True\n"
    x = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(names["MySigmoid"].apply(x), x, create_graph=True)
    s = 1 / (1 + math.exp(-0.4))
    assert math.isclose(g.item(), s * (1 - s))
    assert math.isclose(torch.autograd.grad(g, x)[0].item(), s * (1 - s) * (1 - 2 * s))


def test_leaky_relu_with_and_without_the_usual_name_of_ctx():
    """The first parameter is the ctx whatever it is called, so the "wrong" spelling is only misleading."""
    names = run("leaky_relu")
    expected = np.float32([0.1, 0.1, 1, 1, 1])
    np.testing.assert_allclose(names["correct"].numpy(), expected)
    np.testing.assert_allclose(names["wrong"].numpy(), expected)


def test_state_on_the_class_is_shared_and_wrong_state_on_the_first_parameter_is_not():
    names = run("state_on_the_class")
    right = 8 * 1.1**7
    assert math.isclose(names["on_first_parameter"].item(), right)
    assert not math.isclose(names["on_class"].item(), right)


def test_constants_tables_and_options():
    names = run("class_constants")
    assert names["linear"] is True
    assert names["looked_up"].tolist() == [0.0, 2.0, 0.0, 1.0]
    assert names["clipped"].tolist() == [0.0, 1.0, 0.0]
    assert names["straight"].tolist() == [1.0, 1.0, 1.0]


def test_every_call_has_its_own_ctx_and_the_ctx_is_the_node():
    names = run("one_ctx_per_call")
    (_, of_y), (_, of_z), *backwards = names["seen"]
    assert of_y is not of_z
    assert backwards == [("backward", of_z), ("backward", of_y)]
    assert names["y"].grad_fn is of_y
    assert names["x"].grad.item() == 4.0


def test_calling_an_instance_or_saving_on_the_class_says_what_to_write():
    names = run("instance_call", ignore=[DeprecationWarning])
    called, saved = names["errors"]
    assert isinstance(called, RuntimeError)
    assert "Double.apply" in "".join(called.__notes__)
    assert isinstance(saved, RuntimeError)
    assert "ctx.save_for_backward" in "".join(saved.__notes__)


def test_seventh_derivative_of_mutually_recursive_functions():
    found = run("recursive_sine")["derivatives"]
    s, c = math.sin(0.3), math.cos(0.3)
    np.testing.assert_allclose(found, [c, -s, -c, s, c, -s, -c], rtol=0, atol=1e-9)


def test_threads_do_not_share_a_ctx():
    """Two threads in the same Function, each with its own values."""
    apply = run("sigmoid")["MySigmoid"].apply
    wrong = []

    def work(seed):
        x = torch.tensor(0.1 * seed, dtype=torch.float64, requires_grad=True)
        s = 1 / (1 + math.exp(-0.1 * seed))
        for _ in range(50):
            (g,) = torch.autograd.grad(apply(x), x)
            if not math.isclose(g.item(), s * (1 - s)):
                wrong.append(seed)

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
