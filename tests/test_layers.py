"""The package is built in layers, and a module imports only from the layers above its own.

The checker reads the source (nothing is imported), so it also sees imports that no test happens to run. It is a
function over a folder: the last tests of this file hand it small trees that are wrong on purpose.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "pullback"

# ----------------------------------------------------------------------------------------------------------- the rules

ROOT = "(package)"  # pullback/__init__.py: public names only

# From the top down: a module imports from its own layer and from the layers before it.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"core"}),  # the machine; knows no operator
    frozenset({"batching"}),  # batched arrays, and the operators at the border of a batch
    frozenset({"ops"}),  # the operators
    frozenset({"namespaces", "linalg", "fft"}),  # the same operators under each ecosystem's names
    frozenset({"doors"}),  # ways in for programs that were written for another library
    frozenset({"transforms"}),
    frozenset({"implicit"}),  # what solvers find, by the implicit function theorem
    frozenset({"lint"}),
    frozenset({"check"}),  # shows the lines that lint finds
    frozenset({"draw"}),
    frozenset({"autograd"}),  # backward, grad, Function, gradcheck under torch's names for them
    frozenset({"torch"}),  # torch's names and conventions
    frozenset({"bridges"}),
    frozenset({ROOT}),
    frozenset({"cli", "commands", "demo", "__main__", "pytest_plugin"}),
)

# Within core: each imports from those before it. A core module that is not named may stand anywhere, without a cycle.
CORE_ORDER = (
    *(
        "errors",
        "dual",
        "batches",
        "modes",
        "arrays",
        "hooks",
        "places",
        "mistakes",
        "graph",
        "masked",
        "engine",
        "recorded",
        "versions",
        "past",
        "references",
        "wrapping",
        "leaf",
        "cuts",
        "placed",
        "leaving",
        "gradients",
        "tensor",
        "contents",
        "outside",
        "recycling",
        "elision",
        "views",
        "tangents",
        "lost",
        "saved",
        "attributes",
        "aliased",
        "guard",
    ),
    *(
        "packing",
        "raw_saved",
        "refusal",
        "recompute",
        "rules",
        "keep",
        "primitive_node",
        "primitive_keep",
        "primitive",
        "capture",
        "ctx",
        "pulling",
        "outputs",
        "function",
        "anomaly",
        "differentiate",
        "forward",
    ),
)

# What a core module must not know, whatever the layer: module -> (what it may not import, why).
BLIND = {
    "core.graph": (("numpy", "array_api_compat", "core.arrays"), "a graph is nodes and edges; it knows no arrays"),
    "core.engine": (("numpy", "array_api_compat", "core.arrays"), "cotangents are opaque; the walk needs only +"),
}

# An import inside a function hides a dependency, so each one is named here with its reason. Keys are
# (importing module, imported module), both without "pullback."; the direction is free, for that is the usual reason.
# for example ("core.differentiate", "core.anomaly"): "only a pass under detect_anomaly() needs it".
LAZY: dict[tuple[str, str], str] = {
    ("core.differentiate", "core.anomaly"): "only a pass under detect_anomaly() needs it",
    ("core.differentiate", "batching"): "only a pass with a batch of cotangents needs it",
    ("transforms", "batching"): "only jacobian, hessian and vmap need it",
    ("autograd.functional", "batching"): "only vectorize=True needs it",
    ("core.outputs", "core.rules"): "only the wording of an error needs it",
    ("check", "check.whole"): "gradcheck does without the probes",
    ("check.verdicts", "check.reports.text"): "a report says itself in words only when it is printed",
    ("namespaces.array_api", "fft"): "an extension that most programs never name",
    ("namespaces.array_api", "namespaces.special"): "120 operators that most programs never name",
}

# Whole layers that import late by design; the direction stays.
LAZY_LAYERS = {
    ROOT: "rarely used submodules are imported when they are first named, so that `import pullback` stays quick",
    "doors": "the tables of a door are filled when somebody first goes through it, so that `import pullback` stays quick",
    "cli": "each command imports what it needs, so that `pullback --help` is immediate",
    "commands": "`pullback --help` reads every command's description, and nothing else of it",
    "demo": "Rich and the drawing are imported when a report is made",
    "pytest_plugin": "pytest imports it in every run, also in those that never use it",
}

# Libraries of weight are imported on first use, never at the head of a module ...
HEAVY = frozenset(
    {"array_api_compat", "dask", "graphviz", "graphviz_pure", "hypothesis", "jax", "jaxlib", "libcst", "matplotlib"}
    | {"ml_dtypes", "mparray", "pandas", "rich", "scipy", "torch"}
)
# ... except in the modules of this package: importing one *is* the first use.
HEAVY_AT_HOME = "bridges"


# --------------------------------------------------------------------------------------------------------- the checker


@dataclass(frozen=True)
class Import:
    importer: str  # a module of the package, without the package's name ("" is the package itself)
    imported: str  # the same, or for another library its full dotted name
    inside: bool  # whether `imported` is of this package
    line: int
    when: str  # "loading", "call" (inside a function) or "typing" (under `if TYPE_CHECKING`)


def find_modules(package: Path) -> dict[str, Path]:
    """Dotted names of all modules under a folder, relative to it; a package has the name of its folder."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def find_statements(tree: ast.Module) -> Iterator[tuple[ast.Import | ast.ImportFrom | ast.Call, str]]:
    """Import statements and calls of import_module, with the moment at which each one runs."""
    todo: list[tuple[ast.AST, str]] = [(tree, "loading")]
    while todo:
        node, when = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            yield node, when
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            todo += [(child, "typing") for child in node.body]
            todo += [(child, when) for child in node.orelse]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body if isinstance(node.body, list) else [node.body]
            todo += [(child, "typing" if when == "typing" else "call") for child in body]
            todo += [(child, when) for child in ast.iter_child_nodes(node) if child not in body]
        else:
            todo += [(child, when) for child in ast.iter_child_nodes(node)]


def find_imports(package: Path) -> list[Import]:
    """Every import in the package, as pairs of modules."""
    modules = find_modules(package)
    imports = []
    for importer, path in modules.items():
        full = f"{package.name}.{importer}".rstrip(".").split(".")
        home = full if path.name == "__init__.py" else full[:-1]  # what one dot of a relative import means
        for node, when in find_statements(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            for target in find_targets(node, home, package.name, modules):
                head, _, rest = target.partition(".")
                inside = head == package.name
                imports.append(Import(importer, rest if inside else target, inside, node.lineno, when))
    return sorted(imports, key=lambda found: (found.importer, found.line, found.imported))


def find_targets(
    node: ast.Import | ast.ImportFrom | ast.Call, home: list[str], package: str, modules: dict[str, Path]
) -> Iterator[str]:
    """Full names of the modules that one statement imports: `from a import b` means a.b where that is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = home[: len(home) - node.level + 1] if node.level else []
        base = ".".join([*start, *([node.module] if node.module else [])])
        for alias in node.names:
            submodule = f"{base}.{alias.name}"
            yield submodule if submodule.removeprefix(f"{package}.") in modules else base
    elif ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}:
        match node.args:
            case [ast.Constant(value=str(name)), *_]:
                dots = len(name) - len(name.lstrip("."))
                yield ".".join([*home[: len(home) - dots + 1], name[dots:]]).rstrip(".") if dots else name


def layer_of(module: str) -> str:
    return module.partition(".")[0] or ROOT


def rank_of(module: str) -> int | None:
    layer = layer_of(module)
    return next((rank for rank, names in enumerate(LAYERS) if layer in names), None)


def check_layers(package: Path, lazy: dict[tuple[str, str], str] = LAZY) -> list[str]:
    """What is wrong with the imports of a package, one line each; an empty list means nothing is."""
    modules, imports = find_modules(package), find_imports(package)
    wrong = [
        f"{module or ROOT}: {layer_of(module)!r} has no place in LAYERS; decide which layers it may import from"
        for module in modules
        if rank_of(module) is None
    ]

    def report(found: Import, why: str) -> None:
        file = modules[found.importer].relative_to(package.parent).as_posix()
        wrong.append(f"{file}:{found.line} imports {found.imported or ROOT}: {why}")

    for found in imports:
        importer, imported = found.importer, found.imported
        may_be_late = (importer, imported) in lazy

        if importer in BLIND:
            names, why = BLIND[importer]
            if any(f"{imported}.".startswith(f"{name}.") for name in names) and found.when != "typing":
                report(found, why)

        if not found.inside:
            library = imported.partition(".")[0]
            if found.when == "loading" and library in HEAVY and not importer.startswith(f"{HEAVY_AT_HOME}."):
                report(found, "a library of weight is imported inside the function that needs it")
            continue

        if found.when == "call" and not may_be_late and layer_of(importer) not in LAZY_LAYERS:
            report(found, "an import inside a function needs an entry with its reason in LAZY")
        elif found.when == "call" and may_be_late:
            continue

        mine, other = rank_of(importer), rank_of(imported)
        if mine is None:
            continue
        if other is None:
            report(found, f"{layer_of(imported)!r} has no place in LAYERS")
        elif other > mine:
            report(found, f"the layer {layer_of(importer)!r} stands above {layer_of(imported)!r}")
        elif layer_of(importer) == layer_of(imported) == "core" and found.when != "typing":
            places = [CORE_ORDER.index(part) for part in map(core_part, (importer, imported)) if part in CORE_ORDER]
            if len(places) == 2 and places[0] < places[1]:
                report(found, f"within core, {core_part(importer)!r} stands before {core_part(imported)!r}")

    wrong += [f"a cycle: {' -> '.join(cycle)}" for cycle in find_cycles(modules, imports)]
    wrong += [
        f"LAZY names {importer} -> {imported}, but there is no such import any more: remove the entry"
        for importer, imported in lazy
        if importer in modules
        and not any((found.importer, found.imported, found.when) == (importer, imported, "call") for found in imports)
    ]
    return wrong


def core_part(module: str) -> str:
    return module.removeprefix("core").removeprefix(".").partition(".")[0]


def find_cycles(modules: dict[str, Path], imports: list[Import]) -> list[list[str]]:
    """Circles of modules that import each other while they load; each circle is told once."""
    edges: dict[str, list[str]] = {module: [] for module in modules}
    for found in imports:
        if found.inside and found.when == "loading" and found.imported in modules and found.imported != found.importer:
            edges[found.importer].append(found.imported)

    cycles, done = [], set()
    for start in modules:
        path: list[str] = []
        todo: list[tuple[str, Iterator[str]]] = [(start, iter(edges[start]))] if start not in done else []
        path += [start] if todo else []
        while todo:
            module, rest = todo[-1]
            following = next(rest, None)
            if following is None:
                done.add(module)
                todo.pop()
                path.pop()
            elif following in path:
                cycles.append([name or ROOT for name in [*path[path.index(following) :], following]])
            elif following not in done:
                todo.append((following, iter(edges[following])))
                path.append(following)
    return cycles


# --------------------------------------------------------------------------------------------------------- the package


def test_the_package_keeps_its_layers():
    assert check_layers(PACKAGE) == []


def test_every_exception_has_a_reason():
    assert all(reason.strip() for reason in [*LAZY.values(), *LAZY_LAYERS.values()])


# --------------------------------------------------------------------------------------------- the checker's own tests

GOOD = {
    "__init__.py": "from pullback.core.tensor import Tensor\nfrom pullback.ops import sin\n"
    "def __getattr__(name):\n    from pullback import draw\n    return draw",
    "core/__init__.py": "",
    "core/errors.py": "from __future__ import annotations\nimport sys",
    "core/arrays.py": "import numpy as np\ndef namespace(x):\n    import array_api_compat\n",
    "core/graph.py": "from pullback.core.errors import lesson\n"
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pullback.core.tensor import Tensor",
    "core/tensor.py": "from . import graph\nfrom .arrays import project",
    "core/forward.py": "from pullback.core import tensor, graph",
    "ops/__init__.py": "from .elementary import sin",
    "ops/elementary.py": "import numpy as np\nimport pullback.core.tensor",
    "draw/__init__.py": "from pullback.core import graph\ndef svg():\n    import graphviz",
    "bridges/__init__.py": "",
    "bridges/torch.py": "import torch\nfrom pullback.core.tensor import Tensor",
    "cli.py": "import pullback\ndef main():\n    from pullback.draw import svg\n    import rich",
}

BAD = {
    "core imports an operator": (
        {"core/tensor.py": "from pullback.ops.elementary import sin"},
        "core/tensor.py:1 imports ops.elementary: the layer 'core' stands above 'ops'",
    ),
    "the same, relatively": (
        {"core/tensor.py": "x = 1\nfrom ..ops import elementary"},
        "core/tensor.py:2 imports ops.elementary: the layer 'core' stands above 'ops'",
    ),
    "the same, for types only": (
        {"core/tensor.py": "import typing\nif typing.TYPE_CHECKING:\n    import pullback.ops.elementary"},
        "core/tensor.py:3 imports ops.elementary: the layer 'core' stands above 'ops'",
    ),
    "the same, in a class body and a try": (
        {"core/tensor.py": "class Tensor:\n    try:\n        import pullback.ops\n    except ImportError: pass"},
        "core/tensor.py:3 imports ops: the layer 'core' stands above 'ops'",
    ),
    "the same, by name": (
        {"core/tensor.py": "import importlib\nops = importlib.import_module('pullback.ops')"},
        "core/tensor.py:2 imports ops: the layer 'core' stands above 'ops'",
    ),
    "core imports the package": (
        {"core/tensor.py": "from pullback import sin"},
        "core/tensor.py:1 imports (package): the layer 'core' stands above '(package)'",
    ),
    "an operator imports a picture": (
        {"ops/elementary.py": "import pullback.draw"},
        "ops/elementary.py:1 imports draw: the layer 'ops' stands above 'draw'",
    ),
    "an import hidden in a function": (
        {"draw/__init__.py": "def svg():\n    from pullback.core import graph"},
        "draw/__init__.py:2 imports core.graph: an import inside a function needs an entry with its reason in LAZY",
    ),
    "late, and in the wrong direction": (
        {"__init__.py": "def __getattr__(name):\n    from pullback.cli import main"},
        "__init__.py:2 imports cli: the layer '(package)' stands above 'cli'",
    ),
    "core out of order": (
        {"core/errors.py": "from .tensor import Tensor", "core/tensor.py": ""},
        "core/errors.py:1 imports core.tensor: within core, 'errors' stands before 'tensor'",
    ),
    "a graph that knows arrays": (
        {"core/graph.py": "import numpy.linalg"},
        "core/graph.py:1 imports numpy.linalg: a graph is nodes and edges; it knows no arrays",
    ),
    "an engine that knows arrays": (
        {"core/engine.py": "from pullback.core.arrays import project"},
        "core/engine.py:1 imports core.arrays: cotangents are opaque; the walk needs only +",
    ),
    "a heavy library at the head of a module": (
        {"draw/__init__.py": "import graphviz"},
        "draw/__init__.py:1 imports graphviz: a library of weight is imported inside the function that needs it",
    ),
    "a circle within a layer": (
        {"ops/linalg.py": "from pullback.ops import shapes", "ops/shapes.py": "from .linalg import solve"},
        "a cycle: ops.linalg -> ops.shapes -> ops.linalg",
    ),
    "a circle through a package": (
        {"ops/linalg.py": "from pullback.ops import sin", "ops/__init__.py": "from .linalg import solve"},
        "a cycle: ops -> ops.linalg -> ops",
    ),
    "a module that nobody placed": (
        {"helpers.py": ""},
        "helpers: 'helpers' has no place in LAYERS; decide which layers it may import from",
    ),
}


def write(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "pullback"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


def test_a_good_tree_passes(tmp_path):
    assert check_layers(write(tmp_path, GOOD), lazy={}) == []


def test_no_tree_at_all_passes(tmp_path):
    assert check_layers(tmp_path / "pullback") == []


@pytest.mark.parametrize("case", BAD)
def test_a_bad_tree_fails(case, tmp_path):
    files, expected = BAD[case]
    messages = check_layers(write(tmp_path, GOOD | files), lazy={})
    if expected[:7] != "a cycle":  # an import in the wrong direction often closes a circle too
        messages = [message.removeprefix("pullback/") for message in messages if message[:7] != "a cycle"]
    assert messages == [expected]


def test_an_exception_allows_one_late_import_and_must_be_used(tmp_path):
    lazy = {("core.tensor", "ops"): "an example"}
    late = write(tmp_path / "late", GOOD | {"core/tensor.py": "def f():\n    import pullback.ops"})
    assert check_layers(late, lazy) == []
    early = write(tmp_path / "early", GOOD | {"core/tensor.py": "import pullback.ops"})
    assert [message.split(":")[0] for message in check_layers(early, lazy)] == [
        "pullback/core/tensor.py",  # the exception is for a late import, and this one is not
        "a cycle",
        "LAZY names core.tensor -> ops, but there is no such import any more",
    ]
    stale = write(tmp_path / "stale", GOOD)
    assert check_layers(stale, lazy) == [
        "LAZY names core.tensor -> ops, but there is no such import any more: remove the entry"
    ]
