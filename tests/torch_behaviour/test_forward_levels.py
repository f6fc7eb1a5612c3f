"""Dual numbers: levels, packing and unpacking, what may be made one, and what becomes of tangents."""

import importlib
import weakref

import pytest

from torch_behaviour.entry import entry

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # torch's own forward mode


@pytest.fixture
def fw(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


@entry("J", "size_check")
def test_a_tangent_has_the_shape_of_its_value(torch, fw):
    with fw.dual_level():
        for primal, tangent in (
            (torch.rand(2, 2), torch.rand(2)),
            (torch.rand(2), torch.rand(1)),
            (torch.rand(()), torch.rand(1)),
        ):
            with pytest.raises(RuntimeError, match="has a different size than that of the original Tensor"):
                fw.make_dual(primal, tangent)
        fw.make_dual(torch.rand(2), torch.rand(2))


@entry("J", "default_level")
def test_the_level_need_not_be_named(torch, fw):
    x, t = torch.rand(2), torch.rand(2)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        value, tangent = fw.unpack_dual(dual)
        assert tangent is t
        assert (value == x).all()
        assert fw.unpack_dual(dual, level=0).tangent is t
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, t)
    with fw.dual_level(), pytest.raises((RuntimeError, TypeError, ValueError)):
        fw.make_dual(x, t, level=-3)


@entry("J", "nested_level")
def test_levels_do_not_nest(torch, fw):
    with fw.dual_level() as level:
        assert level == 0
    with fw.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
        fw.enter_dual_level()
    assert fw.enter_dual_level() == 0
    fw.exit_dual_level()


@entry("J", "set_fw_grad_having_own_fw_grad_at_same_level")
def test_a_tangent_has_no_tangent(torch, fw):
    x, t, u = torch.rand(2), torch.rand(2), torch.rand(2)
    with fw.dual_level():
        moving = fw.make_dual(t, u)
        with pytest.raises(RuntimeError, match=r"has a forward gradient|itself has a tangent|its own"):
            fw.make_dual(x, moving)


@entry("J", "make_dual_forbid_integral_dtype")
@pytest.mark.parametrize("which", ["primal", "tangent"])
def test_whole_numbers_do_not_move(torch, fw, which):
    whole, real = torch.ones(2, dtype=torch.int64), torch.ones(2)
    pair = (whole, real) if which == "primal" else (real, whole)
    with fw.dual_level(), pytest.raises(ValueError, match=f"Expected {which} to be floating point or complex"):
        fw.make_dual(*pair)


@entry("J", "print")
def test_printing_shows_the_tangent(torch, fw):
    with fw.dual_level() as level:
        x = torch.ones(2)
        assert "tangent" not in str(x)
        dual = fw.make_dual(x, torch.full((2,), 3.0), level=level)
        assert "tangent=tensor([3., 3.])" in str(dual)
        pair = fw.unpack_dual(dual, level=level)
        assert "tangent" not in str(pair.primal)
        assert str(pair) == "UnpackedDualTensor(primal=tensor([1., 1.]), tangent=tensor([3., 3.]))"


@entry("J", "basic_packing_unpacking")
def test_what_is_packed_is_unpacked(torch, fw):
    x, t = torch.rand(2), torch.rand(2)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        pair = fw.unpack_dual(dual)
        assert (pair.primal == x).all()
        assert pair.tangent is t
        assert fw.unpack_dual(x).tangent is None
        again = fw.make_dual(pair.primal, torch.zeros(2))
        assert (fw.unpack_dual(again).tangent == 0).all()
        assert fw.unpack_dual(dual).tangent is t
        with pytest.raises(
            RuntimeError, match=r"already has a forward gradient|already has a|set the value of an existing"
        ):
            fw.make_dual(dual, t)


@entry("J", "advanced_packing_unpacking")
def test_memory_versions_and_graphs_of_the_parts(torch, fw):
    x, t = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        pair = fw.unpack_dual(dual)
        assert pair.tangent is t
        (pair.primal * 2).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        assert t.grad is None
        (pair.tangent * 3).sum().backward()
        assert t.grad.tolist() == [3.0, 3.0]
        product = fw.unpack_dual(dual * dual).tangent
        gx, gt = torch.autograd.grad(product.sum(), (x, t))
        assert torch.allclose(gx, 2 * t)
        assert torch.allclose(gt, 2 * x)
        assert fw.unpack_dual(dual.detach()).tangent is None
        with torch.no_grad():
            assert torch.allclose(fw.unpack_dual(dual * 3).tangent, 3 * t)


@entry("J", "advanced_packing_unpacking")
def test_a_value_outside_of_graphs_shares_its_memory(torch, fw):
    x, t = torch.ones(2), torch.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        before = x._version
        dual.mul_(2)
        assert x.tolist() == [2.0, 2.0]
        assert x._version == before + 1
        assert fw.unpack_dual(dual).tangent.tolist() == [2.0, 2.0]


@entry("J", "grad_cleanup")
def test_tangents_end_with_their_level(torch, fw):
    x, t = torch.rand(2), torch.rand(2)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        result = dual * 2
        assert fw.unpack_dual(result).tangent is not None
    assert fw.unpack_dual(dual, level=0).tangent is None
    assert fw.unpack_dual(result, level=0).tangent is None
    with fw.dual_level():
        assert fw.unpack_dual(dual).tangent is None
        other = fw.make_dual(dual, torch.ones(2))
        assert fw.unpack_dual(other).tangent.tolist() == [1.0, 1.0]


@entry("J", "forward_level_cleanup")
def test_a_level_that_ended_keeps_no_tangent_alive(torch, fw):
    x, t = torch.rand(2), torch.rand(2)
    seen = weakref.ref(t)
    with fw.dual_level():
        kept = fw.make_dual(x, t)
        del t
        assert seen() is not None
    assert seen() is None
    assert kept.shape == x.shape


@entry("J", "non_differentiable")
def test_comparisons_have_no_tangent(torch, fw):
    with fw.dual_level():
        dual = fw.make_dual(torch.rand(2), torch.rand(2))
        assert fw.unpack_dual(torch.eq(dual, dual)).tangent is None
        assert fw.unpack_dual(torch.argmax(dual)).tangent is None
        assert fw.unpack_dual(dual > 0).tangent is None


@entry("J", "out_variant")
def test_out_has_no_forward_mode(torch, fw):
    with fw.dual_level():
        dual, out = fw.make_dual(torch.rand(2), torch.rand(2)), torch.zeros(2)
        with pytest.raises(RuntimeError, match="out="):
            torch.add(dual, torch.rand(2), out=out)
        with pytest.raises(RuntimeError, match="out="):
            torch.add(torch.rand(2), torch.rand(2), out=fw.make_dual(out, torch.zeros(2)))


@entry("J", "backward_graph_destruction")
def test_a_graph_that_holds_dual_numbers_may_die_inside_or_outside(torch, fw):
    def program():
        x = torch.ones(1, requires_grad=True)
        with fw.dual_level():
            dual = fw.make_dual(x, torch.ones(1))
            z = dual * torch.exp(dual)
            inside = z * z
            del inside
            return z

    z = program()
    assert z.requires_grad
    z.sum().backward()
    del z


@entry(
    "J", "not_implemented_fwad", differs="a Function without jvp has a forward mode that is derived from its backward"
)
def test_a_function_without_a_tangent(torch, fw, here):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    class Closed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([3.0]), torch.ones(1))
        if here:
            assert fw.unpack_dual(Square.apply(dual)).tangent.tolist() == [6.0]
        else:
            with pytest.raises((NotImplementedError, RuntimeError), match="jvp"):
                Square.apply(dual)
        with pytest.raises((NotImplementedError, RuntimeError), match="jvp"):
            Closed.apply(dual)
