"""What NumPy refuses is refused: in the same class of error, naming the operator and its arguments, with nothing recorded.

Each row is called with NumPy's arrays and with Tensors that require gradients.
"""

import re
import warnings
from operator import attrgetter

import numpy as np
import pytest

import pullback as pb
from pullback.core.graph import next_number

CALLS = """
add(x23, x2)
subtract(b2, b2)
negative(b2)
multiply(x23, x2)
divide(x23, x2)
pow(n2, -1)
pow(x23, x2)
atan2(z2, x2)
hypot(x23, x2)
logaddexp(z2, z2)
maximum(x23, x2)
floor_divide(z2, z2)
remainder(z2, z2)
copysign(z2, x2)
floor(z2)
ceil(z2)
trunc(z2)
bitwise_and(x2, n2)
bitwise_invert(x2)
bitwise_left_shift(x2, n2)
less(x23, x2)
logical_and(x23, x2)
where(b2, x23, x2)
clip(x2, x23, None)
sum(x23, axis=2)
sum(x23, axis=(0, 0))
prod(x23, axis=-3)
mean(x23, axis=2)
var(x23, axis=2)
std(x23, axis=5)
max(x23, axis=2)
max(x0)
min(x0)
argmax(x0)
argmax(x23, axis=2)
argmin(x23, axis=-3)
all(x23, axis=2)
any(x23, axis=2)
count_nonzero(x23, axis=2)
cumulative_sum(x23)
cumulative_sum(x23, axis=2)
cumulative_prod(x23, axis=2)
sort(x23, axis=2)
argsort(x23, axis=2)
diff(x23, axis=2)
diff(x2, n=-1)
diff(x23, append=x2)
nonzero(s)
searchsorted(x23, x2)
searchsorted(x2, x2, side='middle')
reshape(x23, (4,))
reshape(x23, (-1, -1))
reshape(x23, (-1, 4))
broadcast_to(x23, (3, 2))
broadcast_to(x23, (3,))
broadcast_arrays(x23, x2)
broadcast_shapes((2,), (3,))
concat([x23, x2])
concat([x23, x33], axis=1)
concat([])
concat([x23], axis=2)
stack([x23, x2])
stack([])
stack([x23], axis=3)
expand_dims(x23, axis=4)
expand_dims(x23, axis=(0, 0))
squeeze(x23, axis=0)
squeeze(x23, axis=2)
flip(x23, axis=2)
roll(x23, 1, axis=2)
moveaxis(x23, 0, 2)
moveaxis(x23, (0, 1), 0)
permute_dims(x23, (0,))
permute_dims(x23, (0, 0))
permute_dims(x23, (0, 2))
repeat(x23, 2, axis=2)
repeat(x2, -1)
repeat(x23, n2a, axis=1)
unstack(x23, axis=2)
unstack(s)
take(x2, n9)
take(x23, n2, axis=2)
take(x2, x2)
take_along_axis(x23, n2, axis=0)
take_along_axis(x23, n22, axis=2)
tril(s)
matrix_transpose(x2)
meshgrid(x2, x2, indexing='xx')
matmul(x23, x23)
matmul(x23, s)
matmul(x2, x33)
tensordot(x23, x23, axes=1)
tensordot(x23, x23, axes=([0], [1]))
vecdot(x23, x2)
linalg.cross(x2, x2)
linalg.outer(x23, x2)
linalg.inv(x23)
linalg.inv(x2)
linalg.inv(x00)
linalg.det(x23)
linalg.slogdet(x23)
linalg.solve(x33, x2)
linalg.solve(x23, x2)
linalg.cholesky(x23)
linalg.cholesky(i33)
linalg.matrix_power(x23, 2)
linalg.matrix_power(x33, 1.5)
linalg.matrix_norm(x2)
linalg.matrix_norm(x33, ord=3)
linalg.vector_norm(x33, axis=2)
linalg.eigh(x23)
linalg.eigvalsh(x23)
linalg.eig(x23)
linalg.svd(x2)
linalg.qr(x2)
linalg.pinv(x2)
linalg.diagonal(x2)
linalg.trace(x2)
fft.fft(x23, n=0)
fft.fft(x23, axis=2)
fft.fft(x23, norm='up')
fft.rfft(z2)
fft.irfft(x23, n=0)
fft.fftn(x23, s=(2,), axes=(0, 1))
fft.fftn(x23, axes=(2,))
fft.fft(s)
fft.hfft(x23, n=-1)
fft.fftshift(x23, axes=2)
fft.fftfreq(2.5)
zeros(-1)
zeros((2, -3))
zeros(2, dtype='float31')
full((2, -1), 1.0)
arange(0, 1, 0)
linspace(0, 1, -1)
linspace(0, 1, 2.5)
eye(-1)
eye(2.5)
asarray([[1.0], [2.0, 3.0]])
finfo('int32')
iinfo('float64')
result_type()
astype(x2, 'float31')
""".strip().splitlines()
METHODS = """
x2[5]
x23[0, 0, 0]
x2[1.5]
x23[np.array([True, False, True])]
x23[:, np.array([0, 3])]
x2['a']
x2[..., ...]
x2.__setitem__(5, 1.0)
x23.__setitem__(0, x2)
x2.__setitem__(1.5, 0.0)
x23.__setitem__(np.array([True, False, True]), 0.0)
x2.__iadd__(x23)
x2.__imul__(x33)
x2.__iand__(n2)
x23 @ x23
x2 << 1
~x2
x23 + x2
x2 < x33
x2 % x33
-b2
b2 - b2
x23.reshape((5,))
x23.sum(axis=3)
x23.mean(axis=-4)
x2.T.reshape(3)
x2.__index__()
len(s)
list(s)
""".strip().splitlines()
#: Of these the type is torch's: programs written for torch ask for it.
AS_IN_TORCH = {
    "int(x2)": RuntimeError,
    "float(x23)": RuntimeError,
    "bool(x2)": RuntimeError,
    "complex(x2)": RuntimeError,
}

ARRAYS = {
    "x2": np.ones(2),
    "x23": np.arange(6.0).reshape(2, 3),
    "x33": np.eye(3) + 1,
    "i33": -np.eye(3),
    "x0": np.ones(0),
    "x00": np.zeros((2, 2)),
    "s": np.array(1.5),
    "b2": np.array([True, False]),
    "n2": np.array([1, 2]),
    "n2a": np.array([1, 2]),
    "n9": np.array([9]),
    "n22": np.zeros((2, 2), int),
    "z2": np.array([1j, 2]),
}


def recorded(array):
    """A Tensor that requires gradients, where its dtype can; not a leaf, so that it can be written."""
    x = pb.tensor(array)
    return pb.positive(x.requires_grad_()) if array.dtype.kind in "fc" else x


def error_of(text, names):
    """What a call raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(text, names)
        except Exception as error:
            return error
    return None


def words(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@pytest.mark.parametrize("call", CALLS)
def test_functions_refuse_what_numpy_refuses(call):
    name, _, rest = call.partition("(")
    expected = error_of(f"f({rest}", {"f": attrgetter(name)(np), **{k: v.copy() for k, v in ARRAYS.items()}})
    assert expected is not None, "NumPy takes it"
    names = {"f": attrgetter(name)(pb), **{k: recorded(v) for k, v in ARRAYS.items()}}
    number = next_number()
    found = error_of(f"f({rest}", names)
    assert next_number() == number + 1, "something was recorded"
    assert isinstance(found, type(expected)), f"{found!r}, but NumPy says {expected!r}"
    told = words(found)
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", told), told
    for argument in re.findall(r"(\w+)=", rest):  # each named one is told of
        assert argument in told, told


@pytest.mark.parametrize("call", METHODS)
def test_operators_and_indices_refuse_what_numpy_refuses(call):
    expected = error_of(call, {"np": np, **{k: v.copy() for k, v in ARRAYS.items()}})
    assert expected is not None, "NumPy takes it"
    names = {"np": np, **{k: recorded(v) for k, v in ARRAYS.items()}}
    before = {k: names[k]._array.copy() for k in ARRAYS}
    found = error_of(call, names)
    assert isinstance(found, type(expected)), f"{found!r}, but NumPy says {expected!r}"
    for k, array in before.items():
        np.testing.assert_array_equal(names[k]._array, array)


@pytest.mark.parametrize("call", AS_IN_TORCH)
def test_conversions_refuse_as_torch_does(call):
    found = error_of(call, {k: recorded(v) for k, v in ARRAYS.items()})
    assert type(found) is AS_IN_TORCH[call]


def test_the_note_shows_the_call_and_what_its_arguments_were():
    with pytest.raises(ValueError, match="broadcast") as caught:
        pb.tensor([1.0, 2.0]) + np.ones((2, 3), "float32")
    assert caught.value.__notes__ == ["Raised by add(a, b): a is float64 of shape (2,), b is float32 of shape (2, 3)."]
    with pytest.raises(np.exceptions.AxisError) as caught:
        pb.diff(pb.tensor([1.0]), axis=3)
    assert caught.value.__notes__ == ["Raised by diff(x, axis=3): x is float64 of shape (1,)."]
    with pytest.raises(ValueError, match="dimension") as caught:
        pb.diff(pb.tensor([1.0]), append=pb.ones((2, 2)))
    assert [note.partition("(")[0] for note in caught.value.__notes__] == ["Raised by concat", "Raised by diff"]


def test_a_users_own_error_stays_alone():
    class Picky(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("not today")

    with pytest.raises(ValueError, match="not today") as caught:
        Picky.apply(pb.tensor(1.0))
    assert not any("Raised by" in note for note in getattr(caught.value, "__notes__", ()))
