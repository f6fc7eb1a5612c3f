"""What a solver finds, as a function of its parameters.

Kepler's equation E - e sin E = M has no solution in closed form. SciPy finds E by iteration, of which nothing is
recorded: the implicit function theorem gives the derivative from the equation alone, to any order. The same E is the
end of a motion, dE/dM = 1 / (1 - e cos E); the derivative of a differential equation solves another one.
"""

import importlib.util
import math

import pullback as pb


def kepler(E, e, M):
    return E - e * pb.sin(E) - M


def by_root(e, M):
    return pb.implicit.root(kepler, M, e, M)


def by_motion(e, M):
    return pb.implicit.solve_ivp(lambda M, E, e: 1 / (1 - e * pb.cos(E)), (0.0, M), 0.0, e).y[-1]


def by_steps(e, M):
    E = M
    for _ in range(8):
        E = E - kepler(E, e, M) / (1 - e * pb.cos(E))
    return E


def main(show=print):
    e, M = pb.tensor(0.6, requires_grad=True), pb.tensor(1.2, requires_grad=True)
    if importlib.util.find_spec("scipy") is None:
        E = by_steps(e, M)
        show(
            "SciPy is not installed, so only Newton's steps, recorded one by one:", E - e * pb.sin(E), "should be", 1.2
        )
        return {}
    E = by_root(e, M)
    (d1,) = pb.autograd.grad(E, e, create_graph=True)
    (d2,) = pb.autograd.grad(d1, e, create_graph=True)

    s, c = math.sin(E.item()), math.cos(E.item())
    slope = s / (1 - 0.6 * c)
    show("E - e sin E", kepler(E, e, M) + M, "should be", 1.2)
    show("dE/de = sin E / (1 - e cos E)", d1, "should be", slope)
    bend = (2 * c - 0.6 * s * slope) * slope / (1 - 0.6 * c)
    show("d²E/de²", d2, "should be", bend)

    moved = by_motion(e, M)
    show("E at the end of the motion", moved, "should be", E.item())
    along = pb.autograd.grad(moved, (e, M))
    show("its dE/de", along[0], "should be", slope)
    show("its dE/dM", along[1], "should be", 1 / (1 - 0.6 * c))

    show("gradcheck", pb.gradcheck(by_root, (e, M)))
    show("gradgradcheck", pb.gradgradcheck(by_root, (e, M)))
    return {"e": e, "M": M, "E": E, "dE/de": d1}


if __name__ == "__main__":
    main()
