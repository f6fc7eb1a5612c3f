"""Equations and eigenvalue problems with sparse matrices, as functions of the entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.implicit.inverses import singular
from pullback.implicit.mapped import mapped
from pullback.implicit.packing import Packing, Parameters, as_arrays
from pullback.implicit.theorem import Equation, Implicit, leave, state
from pullback.ops.axes import conj
from pullback.ops.joining import stack
from pullback.ops.matrices import LinAlgError
from pullback.ops.shapes import shape_of


class SolveSparse(Implicit):
    """``x`` with ``A x = b``, A sparse.  vjp: b̄ = A⁻ᴴ x̄, Ā = -b̄ xᴴ on the pattern of A"""


class Eigsh(Implicit):
    """``A v = w v``, ``vᵀ v = 1``, A sparse.  vjp: by the inverse of ``[[A - w, -v], [vᵀ, 0]]``"""


class Pattern(NamedTuple):
    """Where the entries of a sparse matrix stand: entry k at ``(rows[k], columns[k])``; those at one place are added."""

    rows: Any
    columns: Any
    shape: tuple[int, int]


class SparseProduct(Primitive):
    """``y = A x``, A with entries v at a pattern.  vjp: v̄ₖ = ȳ[rowₖ] x[columnₖ]*, x̄ = Aᴴ ȳ"""

    @staticmethod
    def forward(ctx: Any, values: Any, x: Any, *, pattern: Pattern) -> Any:
        ctx.pattern = pattern
        ctx.save_for_backward(values, x)
        found = _matrix(np.asarray(values), pattern) @ np.asarray(x)
        return found if ctx.xp is np else ctx.xp.asarray(found)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (values, x), (rows, columns, shape), xp = ctx.saved_tensors, ctx.pattern, ctx.xp
        need_values, need_x = ctx.needs_input_grad
        grad_values = grad_x = None
        if need_values:
            library = arrays.namespace(x._array if isinstance(x, Tensor) else x)
            at_rows, at_columns = library.asarray(rows), library.asarray(columns)
            products = xp.take(ct, at_rows, axis=0) * conj(xp, xp.take(x, at_columns, axis=0))
            grad_values = xp.sum(products, axis=-1) if len(x.shape) == 2 else products
        if need_x:
            grad_x = SparseProduct.apply(conj(xp, values), ct, pattern=Pattern(columns, rows, shape[::-1]))
        return grad_values, grad_x


def _matrix(values: Any, pattern: Pattern) -> Any:
    from scipy.sparse import csc_array

    wide = np.result_type(values.dtype, np.float64)
    found = csc_array((values.astype(wide), (pattern.rows, pattern.columns)), shape=pattern.shape)
    return found.astype(values.dtype) if values.dtype != wide else found


def sparse_product(values: Any, pattern: Any, x: Any) -> Any:
    """``A @ x`` with a sparse A, as a function of its entries and of `x`.

    Parameters
    ----------
    values
        The entries, an array or Tensor of shape (nnz,).
    pattern
        Where they stand: a sparse matrix or array of SciPy with nnz stored entries, in that order; or a pair of arrays of
        rows and columns (of a square matrix, as large as the largest of them asks for); or a `Pattern`.
    x
        An array or Tensor of shape (n,) or (n, k).

    Examples
    --------
    >>> import pullback as pb
    >>> values = pb.tensor([2.0, 3.0, 4.0], requires_grad=True)
    >>> y = pb.implicit.sparse_product(values, ([0, 0, 1], [0, 1, 1]), pb.tensor([1.0, 10.0]))
    >>> y
    tensor([32., 40.], grad_fn=<SparseProductBackward>)
    >>> pb.autograd.grad(y.sum(), values)
    (tensor([ 1., 10., 10.]),)
    """
    pattern = as_pattern(pattern, shape_of(values), "sparse_product")
    if len(shape_of(x)) not in (1, 2) or shape_of(x)[0] != pattern.shape[1]:
        raise lesson(
            ValueError,
            f"sparse_product of a matrix of shape {pattern.shape} with an array of shape {tuple(shape_of(x))}",
            instead=f"shape ({pattern.shape[1]},) or ({pattern.shape[1]}, k).",
        )
    return SparseProduct.apply(values, x, pattern=pattern)


def as_pattern(pattern: Any, shape: Any, name: str) -> Pattern:
    """What users may give as a pattern, for entries of a shape."""
    if not isinstance(pattern, Pattern):
        if hasattr(pattern, "tocoo"):
            coo = pattern.tocoo()
            pattern = Pattern(coo.row, coo.col, coo.shape)
        else:
            rows, columns = pattern
            size = 1 + max(int(np.max(rows, initial=-1)), int(np.max(columns, initial=-1)))
            pattern = Pattern(rows, columns, (size, size))
    rows, columns = np.asarray(pattern.rows, dtype=np.intp), np.asarray(pattern.columns, dtype=np.intp)
    if tuple(shape) != rows.shape or rows.shape != columns.shape or rows.ndim != 1:
        raise lesson(
            ValueError,
            f"{name} got values of shape {tuple(shape)} for a pattern of {rows.size} rows and {columns.size} columns",
            why="there is one value for each entry of the pattern.",
            instead="values of shape (nnz,), in the order in which the pattern stores its entries.",
        )
    return Pattern(rows, columns, tuple(pattern.shape))


class SparseLU:
    """Sparse LU factors, computed once, used for all right-hand sides and both directions."""

    def __init__(self, matrix: Any, space: Packing, name: str) -> None:
        from scipy.sparse.linalg import splu

        self.space, self.size = space, matrix.shape[0]
        matrix = matrix.astype(np.result_type(matrix.dtype, np.float64))
        try:
            self.factors = splu(matrix.tocsc()) if self.size else None
        except RuntimeError as error:
            raise lesson(
                LinAlgError,
                f"{name}: the sparse matrix of shape {matrix.shape} is singular ({error})",
                why="its equations have no or many solutions.",
                instead="lstsq or a regularised equation, A + eps * I.",
            ) from None
        self.complex = np.iscomplexobj(matrix.data)

    def solve(self, vector: Any, transposed: bool) -> Any:
        if self.factors is None:
            return vector
        parts = [np.asarray(p) for p in self.space.unpack(vector)]
        columns = np.concatenate([p.reshape(p.shape[0] if p.ndim else 1, -1) for p in parts])
        trans = "H" if transposed else "N"
        if self.complex or not np.iscomplexobj(columns):
            found = self.factors.solve(columns.astype(np.complex128 if self.complex else np.float64), trans)
        else:
            found = self.factors.solve(np.ascontiguousarray(columns.real), trans) + 1j * self.factors.solve(
                np.ascontiguousarray(columns.imag), trans
            )
        sizes = np.cumsum([p.shape[0] if p.ndim else 1 for p in parts])[:-1]
        return self.space.pack([f.reshape(p.shape) for f, p in zip(np.split(found, sizes), parts, strict=True)])


@mapped
def solve_sparse(values: Any, pattern: Any, b: Any) -> Any:
    """``x`` with ``A x = b`` for a sparse square A, as a function of its entries and of `b`.

    SciPy factorises A (SuperLU), once: derivatives of every order use the same factors, and their transposes.

    Parameters
    ----------
    values
        The entries, an array or Tensor of shape (nnz,), real or complex.
    pattern
        Where they stand, see `sparse_product`.  Entries that are not in it have no derivative.
    b
        Right-hand sides, an array or Tensor of shape (n,) or (n, k).

    Returns
    -------
    ``x``, of the shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where A is exactly singular.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[2.0, 1.0], [0.0, 4.0]]))
    >>> values = pb.tensor(A.data, requires_grad=True)
    >>> x = pb.implicit.solve_sparse(values, A, pb.tensor([3.0, 4.0]))
    >>> x
    tensor([1., 1.], grad_fn=<SolveSparseBackward>)
    >>> pb.autograd.grad(x.sum(), values)
    (tensor([-0.5  , -0.5  , -0.125]),)
    """
    pattern = as_pattern(pattern, shape_of(values), "solve_sparse")
    shape = shape_of(b)
    if pattern.shape[0] != pattern.shape[1] or len(shape) not in (1, 2) or shape[0] != pattern.shape[0]:
        raise lesson(
            ValueError,
            f"solve_sparse of a matrix of shape {pattern.shape} and a right-hand side of shape {tuple(shape)}",
            instead="a square matrix, and b of shape (n,) or (n, k).",
        )
    given = Parameters(values, b)
    bare_values, bare_b = as_arrays([values, b], "solve_sparse")
    dtype = np.result_type(arrays.dtype_of(bare_values), arrays.dtype_of(bare_b))
    space = Packing([arrays.cast(bare_b, dtype, arrays.namespace(bare_b))])
    inverse = SparseLU(_matrix(np.asarray(bare_values), pattern), space, "solve_sparse")
    vector = inverse.solve(space.pack([bare_b]), transposed=False)

    def residual(unknowns: list[Any], inputs: list[Any]) -> list[Any]:
        values, b = given.filled(inputs)
        return [SparseProduct.apply(values, unknowns[0], pattern=pattern) - b]

    equation = Equation(residual, space.unpack(vector), lambda *_: inverse, "solve_sparse", given.kind or Tensor)
    return leave(state(equation, given.inputs, SolveSparse), given.kind)[0]


class EigshResult(NamedTuple):
    """What `eigsh` returns."""

    eigenvalues: Any
    eigenvectors: Any


@mapped
def eigsh(
    values: Any, pattern: Any, k: int = 6, *, which: str = "LM", sigma: float | None = None, tol: float = 0
) -> Any:
    """Some eigenvalues and eigenvectors of a real symmetric sparse matrix, as functions of its entries.

    Parameters
    ----------
    values
        The entries, a real array or Tensor of shape (nnz,).
    pattern
        Where they stand, see `sparse_product`: both triangles.
    k
        How many.
    which, sigma, tol
        As for ``scipy.sparse.linalg.eigsh``.

    Returns
    -------
    eigenvalues
        Ascending, (k,).
    eigenvectors
        Orthonormal columns, (n, k), each unique up to its sign.

    Raises
    ------
    ValueError
        Where the matrix is not symmetric.
    DerivativeRefused
        By a derivative of an eigenvalue that coincides with another.

    Notes
    -----
    Each pair solves ``A v = w v, vᵀ v = 1``, whose Jacobian is regular for a simple eigenvalue (Nelson 1976; Andrew, Chu,
    Lancaster 1993).  The derivative is that with respect to each stored entry for itself.

    Examples
    --------
    >>> import pullback as pb
    >>> values = pb.tensor([2.0, 1.0, 1.0, 2.0, 5.0], requires_grad=True)
    >>> w, v = pb.implicit.eigsh(values, ([0, 0, 1, 1, 2], [0, 1, 0, 1, 2]), k=1, which="LA")
    >>> round(w.item(), 12)
    5.0
    >>> pb.autograd.grad(w.sum(), values)[0].tolist()[4]
    1.0
    """
    from scipy.sparse.linalg import eigsh as solver

    pattern = as_pattern(pattern, shape_of(values), "eigsh")
    given = Parameters(values)
    (bare,) = as_arrays(values, "eigsh")
    matrix = _matrix(np.asarray(bare), pattern).astype(np.result_type(arrays.dtype_of(bare), np.float64))
    if np.iscomplexobj(matrix.data) or abs(matrix - matrix.T).max() > 64 * np.finfo(float).eps * abs(matrix).max():
        raise lesson(
            ValueError,
            f"eigsh needs a real symmetric matrix; this one of shape {pattern.shape} is not",
            instead="both triangles in the pattern, with equal values; pb.linalg.eig or eigh for others.",
        )
    start = np.ones(pattern.shape[0])
    found, vectors = solver(matrix, k, which=which, sigma=sigma, tol=tol, v0=start + np.arange(start.size) / start.size)
    order = np.argsort(found)
    pairs = [_pair(given, pattern, matrix, found[j], vectors[:, j], bare) for j in order]
    xp_stack = stack if given.kind is not None else np.stack
    return EigshResult(xp_stack([w for w, _ in pairs]), xp_stack([v for _, v in pairs], axis=-1))


def _pair(given: Parameters, pattern: Pattern, matrix: Any, w: Any, v: Any, like: Any) -> Any:
    """One eigenvalue with its vector, as functions of the entries."""
    xp, dtype = arrays.namespace(like), arrays.dtype_of(like)
    solution = [xp.asarray(np.asarray(x, dtype=dtype)) for x in (w, v)]

    def residual(unknowns: list[Any], inputs: list[Any]) -> list[Any]:
        (w, v), (values,) = unknowns, given.filled(inputs)
        return [((v * v).sum() - 1) / 2, SparseProduct.apply(values, v, pattern=pattern) - w * v]

    def strategy(call: Any, space: Packing, name: str) -> SparseLU:
        from scipy.sparse import block_array, eye_array
        from scipy.sparse.linalg import LinearOperator, onenormest

        column = np.asarray(v)[:, None]
        bordered = block_array([[None, column.T], [-column, matrix - w * eye_array(matrix.shape[0])]]).tocsc()
        try:
            inverse = SparseLU(bordered, space, name)
        except LinAlgError:
            raise singular("eigsh", "the eigenvalue coincides with another") from None
        n = bordered.shape[0]
        operator = LinearOperator(
            (n, n),
            lambda x: inverse.solve(np.ravel(x), False),
            rmatvec=lambda x: inverse.solve(np.ravel(x), True),
            dtype=float,
        )
        condition = onenormest(operator) * onenormest(bordered)
        if not condition < 0.01 / space.eps:
            raise singular("eigsh", "the eigenvalue coincides with another")
        return inverse

    equation = Equation(residual, solution, strategy, "eigsh", given.kind or Tensor)
    return leave(state(equation, given.inputs, Eigsh), given.kind)
