"""What the calls of the tables in this folder compute with: the same small arrays for either library."""

import numpy as np


def arrays():
    """Names to arrays; those of dtype float64 and complex128 are leaves, and are differentiated."""
    rng = np.random.default_rng(11)

    def make(*shape, low=-2.0, high=2.0):
        n = int(np.prod(shape))
        places = rng.permutation(n) + rng.uniform(0.25, 0.75, n)
        return np.round(low + (high - low) * places / max(n, 1), 3).reshape(shape)

    square = make(3, 3)
    return {
        "x": make(3, 4),
        "y": make(3, 4),
        "p": make(3, 4, low=0.5),
        "u": make(3, 4, low=0.05, high=0.95),
        "v": make(4),
        "w": make(4),
        "t": make(2, 3, 4),
        "m": square,
        "h": square @ square.T + 2 * np.eye(3),
        "mm": np.stack([make(3, 3), make(3, 3)]),
        "s": np.asarray(1.7),
        "r": np.asarray(-0.6),
        "e": np.zeros((0, 4)),
        "n": make(4, 6)[:, ::2].T,  # (3, 4), not contiguous
        "a": make(2, 4, 7),  # signals: (N, C, L)
        "a2": make(2, 4, 5, 6),  # images: (N, C, H, W)
        "a3": make(1, 2, 3, 4, 3),  # volumes
        "c": make(3, 4) + 1j * make(3, 4),
        "d": make(3, 4) + 1j * make(3, 4),
        "cm": make(3, 3) + 1j * make(3, 3),
        "cv": make(4) + 1j * make(4),
        "l": np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0]),  # where broken lines are broken
        "f": make(3, 4).astype(np.float32),
        "i": rng.integers(1, 6, (3, 4)),
        "o": rng.integers(-5, 6, (3, 4)),
        "j": np.array([2, 0, 2]),
        "q": np.array([0, 2]),
        "k": rng.permuted(np.tile([[0], [1], [2]], (1, 4)), axis=0)[:2],
        "b": make(3, 4) > 0,
        "z": np.array([[0.0, 1.0, -1.0, 0.0], [np.nan, np.inf, -np.inf, 2.0]]).astype(np.float32),
    }


def tensors(library):
    """The arrays as Tensors of a library, the leaves asking for gradients."""
    found = {}
    for name, array in arrays().items():
        owner = array if array.base is None or array.flags.c_contiguous else array.base
        copy = owner.copy()
        tensor = library.from_numpy(copy if owner is array else copy.reshape(4, 6)[:, ::2].T)
        found[name] = tensor.requires_grad_() if array.dtype in (np.float64, np.complex128) else tensor
    return found
