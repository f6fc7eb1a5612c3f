"""Write docs/lint.md from the docstrings of the rules.  A test compares."""

from pathlib import Path

from pullback.lint.pages import as_markdown

if __name__ == "__main__":
    Path(__file__).with_name("lint.md").write_text(as_markdown(), encoding="utf-8")
