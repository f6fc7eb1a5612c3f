"""`import pullback` is quick because it imports NumPy and nothing else of weight."""

import ast
import json
import subprocess
import sys

HEAVY = ("torch", "jax", "scipy", "matplotlib", "rich", "graphviz", "dask", "pandas")

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
import pullback
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_import_pullback_imports_no_optional_library():
    # -I: neither PYTHONPATH nor the current folder may lend a hand
    done = subprocess.run([sys.executable, "-I", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    imported = set(json.loads(done.stdout))
    assert "numpy" in imported
    assert imported.isdisjoint(HEAVY), f"import pullback imports {sorted(imported & set(HEAVY))}"


def test_import_pullback_leaves_the_tables_of_the_doors_alone():
    """They are filled when somebody first goes through a door; so are the operators that only a door needs."""
    program = "import sys, pullback; print(sorted(name for name in sys.modules if name.startswith('pullback.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = set(ast.literal_eval(done.stdout))
    assert {name for name in imported if name.startswith("pullback.doors.")} == {
        "pullback.doors.numpy",
        "pullback.doors.numpy.frames",
    }
    assert imported.isdisjoint({"pullback.ops.ufuncs", "pullback.ops.fourier", "pullback.ops.convolution"})
