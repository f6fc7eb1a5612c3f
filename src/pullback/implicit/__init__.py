"""What solvers find, as differentiable functions of what they were given."""

from pullback.implicit.eigen import eigh
from pullback.implicit.equations import fixed_point, root, solution
from pullback.implicit.inverses import NotConverged
from pullback.implicit.linear import lstsq, solve_linear
from pullback.implicit.matrix_functions import cosm, expm, fractional_matrix_power, logm, signm, sinm, sqrtm
from pullback.implicit.ode import Trajectory, solve_ivp
from pullback.implicit.optimum import Minimum, least_squares, minimize
from pullback.implicit.quadrature import fixed_quad, quad
from pullback.implicit.riccati import solve_continuous_are, solve_discrete_are
from pullback.implicit.sparse import Pattern, eigsh, solve_sparse, sparse_product
from pullback.implicit.splines import Akima1DInterpolator, CubicSpline, PchipInterpolator
from pullback.implicit.sylvester import solve_continuous_lyapunov, solve_discrete_lyapunov, solve_sylvester

__all__ = [
    "Akima1DInterpolator",
    "CubicSpline",
    "Minimum",
    "NotConverged",
    "Pattern",
    "PchipInterpolator",
    "Trajectory",
    "cosm",
    "eigh",
    "eigsh",
    "expm",
    "fixed_point",
    "fixed_quad",
    "fractional_matrix_power",
    "least_squares",
    "logm",
    "lstsq",
    "minimize",
    "quad",
    "root",
    "signm",
    "sinm",
    "solution",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_ivp",
    "solve_linear",
    "solve_sparse",
    "solve_sylvester",
    "sparse_product",
    "sqrtm",
]
