"""The conformance programs: what agrees with torch agrees, and what does not is listed with its reason.

The probes are small programs with what torch 2.13 printed; the cases are known traps with the right answer.  Both can
be run by hand, ``python tests/conformance/run_probes.py`` and ``run_cases.py``.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.run_cases import CASES, run_case
from deliberate_differences import DELIBERATE, NOT_OFFERED

FOLDER = Path(__file__).parent / "conformance"
PROBES = {probe["id"]: probe for probe in json.loads((FOLDER / "probes.json").read_text(encoding="utf-8"))}
FAILING_CASES: dict[str, str] = {}  # name -> reason


@pytest.fixture(scope="module")
def disagreeing():
    """The ids of the probes that disagree; from a process of its own, where `import torch` means this library."""
    command = [sys.executable, str(FOLDER / "run_probes.py"), "--failing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    score = re.search(r"probes agreeing with torch: (\d+)/(\d+)", done.stdout)
    assert int(score.group(2)) == len(PROBES)
    failing = {line for line in done.stdout.splitlines() if line in PROBES}
    assert len(PROBES) - len(failing) == int(score.group(1))
    return failing


@pytest.mark.parametrize("probe", PROBES)
def test_probe_agrees_or_is_listed(probe, disagreeing):
    """Listed as deliberate or not offered exactly when it disagrees."""
    reason = DELIBERATE.get(probe) or NOT_OFFERED.get(probe)
    if reason is None:
        assert probe not in disagreeing, f"{PROBES[probe]['title']}: prints something else than torch"
    else:
        assert probe in disagreeing, f"agrees with torch now: remove it from the table ({reason})"


def test_tables_name_existing_probes_once():
    assert DELIBERATE.keys() | NOT_OFFERED.keys() <= PROBES.keys()
    assert DELIBERATE.keys() & NOT_OFFERED.keys() == set()
    assert all(reason.strip() for reason in (DELIBERATE | NOT_OFFERED).values())


def test_most_of_the_core_groups_agree(disagreeing):
    """Functions, engine, ctx details, mixtures: at least 125 of these 147."""
    core = {probe for probe in PROBES if probe[0] in "ablmq"}
    assert len(core) == 147
    assert len(core - disagreeing) >= 125


@pytest.mark.parametrize("path", sorted(CASES.glob("case*.py")), ids=lambda path: path.stem)
def test_case_passes(path):
    """A known trap: the right value, or a loud error where that is asked for."""
    line = run_case(path)
    if path.stem in FAILING_CASES:
        assert not line.startswith("PASS"), f"passes now: remove it from FAILING_CASES ({FAILING_CASES[path.stem]})"
    else:
        assert line.startswith("PASS"), line
