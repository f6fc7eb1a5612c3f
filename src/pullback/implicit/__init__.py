"""What solvers find, as differentiable functions of what they were given."""

from pullback.implicit.equations import fixed_point, root, solution
from pullback.implicit.inverses import NotConverged
from pullback.implicit.linear import lstsq, solve_linear
from pullback.implicit.matrix_functions import cosm, expm, fractional_matrix_power, logm, sinm, sqrtm
from pullback.implicit.optimum import Minimum, least_squares, minimize
from pullback.implicit.sparse import Pattern, eigsh, solve_sparse, sparse_product
from pullback.implicit.sylvester import solve_continuous_lyapunov, solve_discrete_lyapunov, solve_sylvester

__all__ = [
    "Minimum",
    "NotConverged",
    "Pattern",
    "cosm",
    "eigsh",
    "expm",
    "fixed_point",
    "fractional_matrix_power",
    "least_squares",
    "logm",
    "lstsq",
    "minimize",
    "root",
    "sinm",
    "solution",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_linear",
    "solve_sparse",
    "solve_sylvester",
    "sparse_product",
    "sqrtm",
]
