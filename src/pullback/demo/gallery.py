"""A page with the pictures of the course: complete in itself, light or dark as the reader's system is."""

from __future__ import annotations

from html import escape
from pathlib import Path

from pullback.demo.course import Example

_STYLE = """\
:root { color-scheme: light dark;
  --ink: #1c1c1e; --soft: #5c5c63; --page: #f7f7f5; --card: #ffffff; --rim: #e2e2e0 }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e8e8ea; --soft: #a0a0a8; --page: #111113; --card: #1b1b1e; --rim: #303036 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 62rem; padding: 3rem 1.25rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif }
h1 { font-size: 1.9rem; margin: 0 0 .5rem } h2 { font-size: 1.2rem; margin: 0; line-height: 1.3 }
p { max-width: 46rem; margin: .4rem 0 1rem } header p, small, h3 { color: var(--soft) }
h3 { font-size: .85rem; font-weight: 600; letter-spacing: .06em; text-transform: uppercase; margin: 2.5rem 0 .75rem }
section { background: var(--card); border: 1px solid var(--rim); border-radius: .75rem; padding: 1.25rem 1.5rem;
  margin: 0 0 1.25rem }
figure { margin: 0; overflow-x: auto } figure svg { display: block; margin: auto; max-width: 100%; height: auto }
small { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .8rem }
"""


def write(examples: list[Example], out: Path) -> Path:
    """Write ``index.html`` into `out`: every program whose picture lies there, in the order of the course."""
    path = out / "index.html"
    path.write_text(page([(e, out / f"{e.name}.svg") for e in examples]), encoding="utf-8")
    return path


def page(pictures: list[tuple[Example, Path]]) -> str:
    """The page; a picture that does not exist is left out."""
    body, part = [], ""
    for example, file in pictures:
        if file.is_file():
            if example.part != part:
                part = example.part
                body.append(f"<h3>{escape(part)}</h3>")
            body.append(_section(example, file.read_text(encoding="utf-8")))
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>pullback: graphs of the course</title>\n<style>\n{_STYLE}</style>\n"
        "<header><h1>The graphs of the course</h1>\n<p>Arrows lead from arguments to results; gradients flow against "
        "them. Dotted lines lead to what an operation keeps for backward.</p></header>\n"
        + "\n".join(body)
        + "\n</html>\n"
    )


def _section(example: Example, svg: str) -> str:
    return (
        f'<section id="{example.name}">\n<h2>{escape(example.title)}</h2>\n<small>{example.path.name}</small>\n'
        f"<p>{escape(example.text)}</p>\n<figure>\n{svg}</figure>\n</section>"
    )
