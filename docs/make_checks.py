"""Write docs/check.md from the docstrings of the probes and the catalogue of faults.  A test compares."""

from pathlib import Path

from pullback.check.pages import as_markdown

if __name__ == "__main__":
    Path(__file__).with_name("check.md").write_text(as_markdown(), encoding="utf-8")
