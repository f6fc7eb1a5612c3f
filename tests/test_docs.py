"""The documents are true: their programs print what stands below them, their quotations and links exist.

What a page may contain, and how it is read here:

* a ``python`` block runs, in one namespace per page; ``expression  # → value`` and ``name = expression  # → value`` are
  compared with the repr of the value (``...`` stands for anything, and white space does not count);
* a ``text`` block directly below a ``python`` block is what that block printed, warnings and the final error included;
  without one the block must print nothing;
* a ``python prelude`` block opens a page of comparisons: each ``python both`` block runs on it, in a namespace of its
  own, with ``torch`` being `pullback.torch` and, where it is installed, PyTorch; a ``text pullback`` and a
  ``text torch 2.13`` block follow;
* a block below ``<!-- from PATH -->`` quotes that file line by line, in order, and does not run;
* a table below ``<!-- derivatives -->`` gives functions, points, and what their derivatives are there.

The last tests hand wrong pages to these readers.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tokenize
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.torch
from pullback.core.primitive_node import PrimitiveNode
from pullback.core.pulling import FunctionNode
from pullback.doors import numpy as numpy_door
from pullback.ops.examples import EXAMPLES
from pullback.ops.registry import ATTRIBUTES, REGISTRY
from test_every_op import CHECKS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ARROW = "# →"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Wrong(AssertionError):
    """A page says something that is not so."""


# ------------------------------------------------------------------------------------------------------------- reading
@dataclass(frozen=True)
class Block:
    """A fenced block: its info string, its text, the line it starts on, and the comment above it."""

    info: str
    text: str
    line: int
    source: str = ""  # the file that it quotes
    follows: bool = False  # nothing but blank lines between it and the block before


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    lines = page.splitlines()
    above, between, k = "", True, 0
    while k < len(lines):
        line = lines[k]
        if line.startswith("```"):
            end = next((n for n in range(k + 1, len(lines)) if lines[n].rstrip() == "```"), None)
            if end is None:
                raise Wrong(f"line {k + 1}: a block without an end")
            quote = re.fullmatch(r"<!-- from (\S+) -->", above)
            text = "\n".join(lines[k + 1 : end]) + "\n"
            found.append(Block(line[3:].strip(), text, k + 1, quote[1] if quote else "", bool(found) and not between))
            k, above, between = end, "", False
        elif line.strip():
            above, between = line.strip(), True
        k += 1
    return found


def below(page: list[Block], k: int, info: str) -> Block | None:
    """The block of this kind directly below block number `k`."""
    for block in page[k + 1 :]:
        if not block.follows:
            return None
        if block.info == info:
            return block
    return None


# ------------------------------------------------------------------------------------------------------------- running
def agrees(expected: str, found: str) -> bool:
    return doctest.OutputChecker().check_output(expected.strip() + "\n", found.strip() + "\n", FLAGS)


def arrows(code: str) -> dict[int, str]:
    """Line number to promised value."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {t.start[0]: t.string[len(ARROW) :].strip() for t in tokens if t.string.startswith(ARROW)}


def run_block(block: Block, namespace: dict[str, Any], name: str = "page") -> str:
    """Run a program statement by statement; what it printed, with its warnings and the error that ended it."""
    promised = arrows(block.text)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda m, kind, *rest: printed.write(f"{kind.__name__}: {m}\n")
        for statement in ast.parse(block.text).body:
            line = statement.end_lineno
            expected = promised.pop(line, None)
            try:
                value = run_statement(statement, namespace, name, block.line)
            except Exception as error:
                printed.write("".join(traceback.format_exception_only(error)))
                break
            if expected is not None and not agrees(expected, repr(value)):
                raise Wrong(f"line {block.line + line}: gives {value!r}, not {expected}")
    if promised:
        raise Wrong(f"line {block.line + min(promised)}: nothing to compare {min(promised.items())[1]} with")
    return printed.getvalue()


def run_statement(statement: ast.stmt, namespace: dict[str, Any], name: str, offset: int) -> Any:
    """Execute one statement; the value of an expression, or of what was assigned."""
    ast.increment_lineno(statement, offset)  # so that messages name lines of the page
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), name, "eval"), namespace)
    exec(compile(ast.Module([statement], []), name, "exec"), namespace)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 1:
            target = target.elts[0]
        return eval(ast.unparse(target), namespace)
    return None


def compare(block: Block, printed: str, expected: Block | None) -> None:
    if not agrees(expected.text if expected else "", printed):
        raise Wrong(
            f"line {block.line}: printed\n{printed}\nbut the page says\n{expected.text if expected else 'nothing'}"
        )


def run_page(page: str, name: str = "page") -> dict[str, Any]:
    """Run the programs of a page, one after the other; the names that they define."""
    found = blocks(page)
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for k, block in enumerate(found):
        if block.info == "python" and not block.source:
            compare(block, run_block(block, namespace, name), below(found, k, "text"))
    return namespace


def comparisons(page: str) -> list[tuple[Block, list[Block], dict[str, Block | None]]]:
    """Each program that is run twice, the preludes above it, and what either library should print."""
    found = blocks(page)
    result, prelude = [], []
    for k, block in enumerate(found):
        if block.info == "python prelude":
            prelude.append(block)
        elif block.info == "python both":
            texts = {engine: below(found, k, f"text {engine}") for engine in ("pullback", "torch 2.13")}
            result.append((block, list(prelude), texts))
    return result


def run_both(block: Block, prelude: list[Block], engine: Any) -> str:
    namespace = {"__name__": "__page__", "torch": engine}
    for opening in prelude:
        run_block(opening, namespace)
    return run_block(block, namespace)


# ---------------------------------------------------------------------------------------------------- quotes and links
def check_quote(block: Block, root: Path) -> None:
    """Every line of a quotation stands in the file, in this order; a line of dots leaves something out."""
    source = [line.strip() for line in (root / block.source).read_text(encoding="utf-8").splitlines()]
    place = 0
    for line in filter(None, map(str.strip, block.text.splitlines())):
        if line == "...":
            continue
        if line not in source[place:]:
            raise Wrong(f"line {block.line}: {block.source} has no line {line!r} here")
        place = source.index(line, place) + 1


def prose(page: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def anchors(page: str) -> set[str]:
    """What a link can point to: headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(path: Path, page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists():
            raise Wrong(f"{target} does not exist")
        if anchor and anchor not in anchors(there.read_text(encoding="utf-8")):
            raise Wrong(f"{target}: no such heading")


def check_names(page: str, root: Path = ROOT) -> None:
    """Files, folders and make targets that the text mentions exist."""
    places = [root, root / "src" / "pullback", root / "src" / "pullback" / "core", root / "docs"]
    for name in re.findall(r"`([\w./-]+/|[\w.-]+(?:/[\w.-]+)*\.(?:py|md|toml|json|svg))`", prose(page)):
        if not any((place / name).exists() for place in places):
            raise Wrong(f"there is no file {name}")
    targets = set(re.findall(r"^([a-z]+):.*## ", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for target in re.findall(r"^make ([a-z]+)|`make ([a-z]+)", page, re.MULTILINE):
        if not targets & set(target):
            raise Wrong(f"make has no target {''.join(target)}")
    for file in re.findall(r"python ((?:benchmarks|examples|docs)/\w+\.py)", page):
        if not (root / file).exists():
            raise Wrong(f"there is no program {file}")


# ------------------------------------------------------------------------------------------------ tables of derivatives
def rows(page: str, marker: str) -> Iterator[list[str]]:
    """The cells of the tables below a comment, without code marks."""
    for table in re.findall(rf"<!-- {marker} -->\n((?:\|.*\n)+)", page):
        for line in table.splitlines()[2:]:
            yield [cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def check_derivatives(function: str, point: str, first: str, second: str) -> None:
    """The gradient and the Hessian of a function at a point; a Jacobian where it returns several numbers."""
    names = {"pb": pb, "np": np, "inf": np.inf, "nan": np.nan}
    f: Callable[..., Any] = eval(f"lambda x: {function}", names)
    x: Any = np.asarray(eval(point, names))
    with np.errstate(all="ignore"):
        for expected, transform in ((first, pb.jacobian(f)), (second, pb.jacobian(pb.jacobian(f)))):
            if expected in ("", "-"):
                continue
            try:
                found: Any = transform(x)
            except pb.DerivativeRefused:
                found = "refused"
            right = expected == "refused" if isinstance(found, str) else expected != "refused"
            if not right or (expected != "refused" and not same_numbers(found, eval(expected, names))):
                raise Wrong(f"{function} at {point}: {found}, not {expected}")


def same_numbers(found: Any, expected: Any) -> bool:
    return np.shape(found) == np.shape(expected) and np.allclose(found, expected, rtol=1e-4, atol=0, equal_nan=True)


# ----------------------------------------------------------------------------------------------------------- the pages
@pytest.fixture(autouse=True)
def registry_as_before(tmp_path, monkeypatch):
    """What a page registers is forgotten, and what it writes goes to a folder of its own."""
    numpy_door.fill()  # the tables as they are when anything is in them
    tables: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (t, dict(t)) for t in (REGISTRY, ATTRIBUTES, EXAMPLES, numpy_door.UFUNCS, numpy_door.FUNCTIONS)
    ]
    monkeypatch.chdir(tmp_path)
    yield
    for table, before in tables:
        table.clear()
        table.update(before)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


#: SciPy reads a variable when it is imported, so this page is run in a process of its own.
ON_SCIPY = ROOT / "docs" / "scipy.md"


@pytest.mark.parametrize("path", [path for path in PAGES if path != ON_SCIPY], ids=page_name)
def test_programs_print_what_the_page_says(path):
    run_page(read(path), page_name(path))


def test_programs_of_the_page_on_scipy_print_what_it_says():
    for name in ("sklearn", "einops"):
        pytest.importorskip(name)
    code = f"from pathlib import Path; import test_docs; test_docs.run_page(test_docs.read(Path({str(ON_SCIPY)!r})))"
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_quotations_are_exact(path):
    for block in blocks(read(path)):
        if block.source:
            check_quote(block, ROOT)


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_links_files_and_targets_exist(path):
    check_links(path, read(path))
    check_names(read(path))


def test_the_walk_through_the_machine_leaves_no_module_out():
    text = read(ROOT / "docs" / "engine.md")
    modules = {path.name for path in (ROOT / "src" / "pullback" / "core").glob("*.py")}
    assert {name for name in modules if f"`{name}`" not in text and f"`core/{name}`" not in text} <= {"__init__.py"}


def test_the_page_on_the_ctx_leaves_nothing_out():
    code = " ".join(re.findall(r"`([^`]+)`", read(ROOT / "docs" / "ctx.md")))
    members = {name for kind in (FunctionNode, PrimitiveNode) for name in dir(kind) if not name.startswith("_")}
    assert members - set(re.findall(r"\w+", code)) == set()


def test_every_page_is_on_the_map_of_the_readme():
    targets = set(re.findall(r"\]\(([^)\s#]+)\)", read(PAGES[0])))
    assert {page_name(path) for path in PAGES[1:]} <= targets


COMPARED = [(path, *entry) for path in PAGES for entry in comparisons(read(path))]
IDS = [f"{page_name(path)}:{block.line}" for path, block, *_ in COMPARED]


@pytest.mark.parametrize(("path", "block", "prelude", "texts"), COMPARED, ids=IDS)
def test_pullback_prints_what_the_comparison_says(path, block, prelude, texts):
    assert None not in texts.values()
    compare(block, run_both(block, prelude, pullback.torch), texts["pullback"])


@pytest.mark.torch
@pytest.mark.parametrize(("path", "block", "prelude", "texts"), COMPARED, ids=IDS)
def test_torch_prints_what_the_comparison_says(path, block, prelude, texts):
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13."):
        pytest.skip(f"the page compares with torch 2.13, this is {torch.__version__}")
    compare(block, run_both(block, prelude, torch), texts["torch 2.13"])


SPECIAL = [row[:4] for path in PAGES for row in rows(read(path), "derivatives")]


@pytest.mark.parametrize(("function", "point", "first", "second"), SPECIAL, ids=[f"{r[0]} at {r[1]}" for r in SPECIAL])
def test_special_points(function, point, first, second):
    check_derivatives(function, point, first, second)


def test_the_operators_of_the_guide_pass_every_test_of_an_operator(monkeypatch):
    before = dict(REGISTRY)
    run_page(read(ROOT / "CONTRIBUTING.md"))
    added = [record for name, record in REGISTRY.items() if record is not before.get(name)]
    assert len(added) >= 2
    for record in added:
        monkeypatch.setattr(pb, record.name, record.call, raising=False)  # as the namespace would show it
        for check, applies in CHECKS.values():
            if applies(record):
                check(record)


def run_script(script: Path, argument: Path) -> None:
    command = [sys.executable, str(script), str(argument)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_pictures_are_those_that_the_script_makes(tmp_path):
    run_script(ROOT / "docs" / "make_pictures.py", tmp_path)
    kept = {path.name: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}
    assert kept == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_the_table_of_coverage_is_what_the_script_finds(tmp_path):
    script, page = ROOT / "docs" / "make_coverage.py", tmp_path / "coverage.md"
    run_script(script, page)
    assert read(ROOT / "docs" / "coverage.md") == read(page), f"run {script}"


def test_the_list_of_operators_is_that_of_the_registry(tmp_path):
    script, page = ROOT / "docs" / "make_operators.py", tmp_path / "operators.md"
    run_script(script, page)
    assert read(ROOT / "docs" / "operators.md") == read(page), f"run {script}"


def test_the_list_of_torchs_names_is_what_is_offered(tmp_path):
    script, page = ROOT / "docs" / "make_torch_names.py", tmp_path / "torch_names.md"
    run_script(script, page)
    assert read(ROOT / "docs" / "torch_names.md") == read(page), f"run {script}"


def test_the_list_of_special_functions_is_that_of_the_registry(tmp_path):
    script, page = ROOT / "docs" / "make_special.py", tmp_path / "special.md"
    run_script(script, page)
    assert read(ROOT / "docs" / "special.md") == read(page), f"run {script}"


def test_the_picture_of_the_readme_is_that_of_its_program(tmp_path):
    run_page(read(PAGES[0]))
    assert (tmp_path / "sinh.svg").read_bytes() == (ROOT / "docs" / "pictures" / "sinh.svg").read_bytes()


# ------------------------------------------------------------------------------------- the readers, on pages that are wrong
@pytest.mark.parametrize(
    "page",
    [
        "```python\n1 + 1  # → 3\n```\n",  # another value
        "```python\n(a,) = (1,)  # → (1,)\n```\n",  # the only target is what is meant
        "```python\nfor _ in []:\n    1  # → 1\n```\n",  # a promise that nobody keeps
        "```python\nprint(1)\n```\n",  # prints, and no text follows
        "```python\nprint(1)\n```\n```text\n2\n```\n",
        "```python\nprint(1)\n```\nThis prints\n```text\n1\n```\n",  # not directly below
        "```python\n1 / 0\n```\n",  # an error that the page does not show
        "```python\npass\n```\n```text\nZeroDivisionError: division by zero\n```\n",  # an error that does not come
        "```python\nimport warnings\nwarnings.warn('beware')\n```\n",
        "```python\nx = 1\n",  # no end
    ],
)
def test_a_wrong_page_is_noticed(page):
    with pytest.raises(Wrong):
        run_page(page)


def test_a_right_page_is_not_complained_about():
    run_page(
        "```python\nx = 2\nx + 1  # → 3\n(y,) = (x,)  # → 2\nprint('a',\n      x)\n```\n\n```text\na 2\n```\n"
        "```python\nx / 0  # → never shown\n```\n```text\nZeroDivisionError: ...\n```\n"
        "```sh\nrm -r /\n```\n<!-- from x.py -->\n```python\n1 / 0\n```\n"
    )


@pytest.mark.parametrize("quote", ["b = 2\na = 1\n", "c = 3\n", "a = 1\n...\na = 1\n"])
def test_a_wrong_quotation_is_noticed(quote, tmp_path):
    (tmp_path / "file.py").write_text("a = 1\n\nif a:\n    b = 2\n")
    check_quote(Block("python", "a = 1\n...\n  b = 2\n", 1, "file.py"), tmp_path)
    with pytest.raises(Wrong):
        check_quote(Block("python", quote, 1, "file.py"), tmp_path)


def test_dead_links_and_names_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One thing, two\n")
    check_links(page, "[a](page.md#one-thing-two) [b](https://example.org/none)\n```text\n[c](none.md)\n```\n")
    for dead in ("[a](none.md)", "[a](page.md#two)", "[a](#three)"):
        with pytest.raises(Wrong):
            check_links(page, f"# One\n{dead}\n")
    check_names("`tests/conftest.py`, `core/graph.py`, `make test`\nmake demo\npython benchmarks/chain.py\n")
    for dead in ("`core/none.py`", "`make coffee`", "make coffee\n", "python benchmarks/none.py", "`src/nothing/`"):
        with pytest.raises(Wrong):
            check_names(dead)


@pytest.mark.parametrize(
    "row",
    [
        ("x * x", "3.0", "5", "2"),
        ("x * x", "3.0", "6", "refused"),
        ("abs(x)", "[0.0]", "[0]", "[[0]]"),  # shapes count
        ("pb.vector_norm(x)", "[0.0, 0.0]", "[0, 0]", "[[0, 0], [0, 0]]"),
        ("pb.sqrt(x)", "0.0", "nan", "-"),
    ],
)
def test_a_wrong_derivative_is_noticed(row):
    check_derivatives("x * x", "3.0", "6", "2")
    check_derivatives("pb.vector_norm(x)", "[0.0, 0.0]", "[0, 0]", "refused")
    with pytest.raises(Wrong):
        check_derivatives(*row)


def test_tables_are_read_cell_by_cell():
    page = "text\n\n<!-- derivatives -->\n| f | x |\n|---|---|\n| `a \\| b` | `1` |\n| c | 2 |\n\n| d | 3 |\n"
    assert list(rows(page, "derivatives")) == [["a | b", "1"], ["c", "2"]]


@pytest.mark.slow  # with what is installed for the marked tests
def test_what_is_said_of_hips_autograd():
    autograd = pytest.importorskip("autograd")
    import autograd.numpy as anp

    def outcome(f: Any, point: Any) -> Any:
        try:
            return autograd.grad(f)(point)
        except Exception as error:
            return type(error).__name__

    for function, point, _, _, expected in rows(read(ROOT / "docs" / "numpy.md"), "derivatives"):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = outcome(eval(f"lambda x: {function}", {"np": anp}), np.asarray(eval(point)))
        if expected.endswith("Error"):
            assert found == expected, function
        else:
            np.testing.assert_allclose(found, eval(expected, {"nan": np.nan}), rtol=1e-5, err_msg=function)
