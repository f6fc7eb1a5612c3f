"""Old names in ``torch`` of what ``torch.linalg`` does."""

from __future__ import annotations

from typing import Any

from pullback.torch import linalg
from pullback.torch._export import both, function, xp
from pullback.torch._results import named

TriangularSolve = named("triangular_solve", "solution cloned_coefficient")


@both("triangular_solve")
def _triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution of ``A X = input`` where A is a triangle, and A."""
    matrix = xp.matrix_transpose(A) if transpose else A
    solution = linalg.solve_triangular(matrix, input, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularSolve(solution, A.clone())


@both("lu_solve")
def _lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """The solution ``X`` of ``A X = input`` from the LU factors of A."""
    return linalg.lu_solve(LU_data, LU_pivots, input)


@function("nuclear_norm")
def _nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of the singular values."""
    return linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)
