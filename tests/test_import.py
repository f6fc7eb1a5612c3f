"""`import pullback` is quick because it imports NumPy and nothing else of weight."""

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
