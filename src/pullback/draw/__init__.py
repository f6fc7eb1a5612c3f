"""Pictures of graphs: as text, SVG, Mermaid, and Graphviz' DOT.

Every format draws the same model with the same colours:

==================  ===========  ======================================================================================
box                 colour       what it is
==================  ===========  ======================================================================================
leaf                light blue   a Tensor made by the user that requires gradients
output              light green  a Tensor that was handed in
base of a view      dark green   what an output is a view of
operation           grey         a recorded operation of this library, by the name of its node
your operator       plum         a `Function` or `Primitive` written by a user
adds to .grad       white        ``AccumulateGrad``, the end of the path to a leaf
saved for backward  orange       a value that an operation keeps: its name, if it has one, its shape, where it came from
derivative refused  red          a node that raises when it is differentiated
left out            yellow       dashed: nodes beyond ``max_nodes``
==================  ===========  ======================================================================================

Arrows lead from arguments to results; gradients flow against them.  A number at an arrow says which result of an
operation it is, where there are several.  Dotted lines lead to saved values, dotted arrows from a base to its view.

The text is the same for the same program: no ids, no addresses, no counters of the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.draw.dot import digraph, render
from pullback.draw.mermaid import flowchart
from pullback.draw.model import MAX_NODES, model
from pullback.draw.svg import picture
from pullback.draw.text import listing

if TYPE_CHECKING:
    from graphviz import Digraph

__all__ = ["MAX_NODES", "Picture", "make_dot", "mermaid", "save", "svg", "text"]


class Picture:
    """The graph behind one or several Tensors, ready to be drawn; a notebook shows it as SVG, ``print`` as text.

    Parameters
    ----------
    var, params, show_attrs, show_saved, max_attr_chars, max_nodes
        See `make_dot`.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.draw import Picture
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> print(Picture(x * x, {"x": x}, show_saved=True))
    x: leaf ()
    MulBackward0: (a=x, b=x) -> ()
        keeps x (): input a, 8 bytes
        keeps x (): input b, 8 bytes
    output: output = MulBackward0 ()
    """

    def __init__(
        self,
        var: Any,
        params: Mapping[str, Tensor] | None = None,
        show_attrs: bool = False,
        show_saved: bool = False,
        max_attr_chars: int = 50,
        *,
        max_nodes: int | None = MAX_NODES,
    ) -> None:
        self.model = model(var, params, show_attrs, show_saved, max_attr_chars, max_nodes)

    def text(self) -> str:
        """A listing, producers first."""
        return listing(self.model)

    def svg(self) -> str:
        """An SVG document."""
        return picture(self.model)

    def mermaid(self) -> str:
        """A Mermaid flowchart."""
        return flowchart(self.model)

    def dot(self) -> Digraph:
        """A ``graphviz.Digraph``."""
        return digraph(self.model)

    def png(self) -> bytes:
        """A PNG, made by Graphviz' ``dot`` or by the package graphviz-pure."""
        return render(self.dot().source, "png")

    def save(self, path: str | Path) -> Path:
        """Write a file in the format that its suffix names: .svg, .txt, .mmd, .dot, .gv, .png."""
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                data: str | bytes = self.svg()
            case ".txt":
                data = self.text()
            case ".mmd" | ".mermaid":
                data = self.mermaid()
            case ".dot" | ".gv":
                data = self.dot().source
            case ".png":
                data = self.png()
            case suffix:
                raise lesson(
                    ValueError,
                    f"no picture is made in the format {suffix or 'of a file without suffix'!r} ({path.name})",
                    instead="a name that ends in .svg, .txt, .mmd, .dot, .gv or .png.",
                )
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.text().rstrip()


def make_dot(
    var: Any,
    params: Mapping[str, Tensor] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
    *,
    max_nodes: int | None = MAX_NODES,
) -> Digraph:
    """The graph behind `var` as a ``graphviz.Digraph``, with the parameters of torchviz' function of that name.

    A notebook shows it as it is.  Its ``render()`` and ``view()`` run Graphviz' program ``dot``, which is no part of the
    Python package graphviz; `save` writes an SVG without it.

    Parameters
    ----------
    var
        A Tensor, or a tuple of Tensors, of any shape and dtype.
    params
        Names for Tensors: leaves, outputs, saved values, and results in between.
    show_attrs
        List what hangs on the ctx of each operation.
    show_saved
        Show the values that operations keep for backward; those of a user's own operators are shown always.
    max_attr_chars
        Length at which the value of an attribute is cut.
    max_nodes
        Draw the latest so many operations, and at most as many leaves; one dashed box counts the others. ``None``: all.

    Raises
    ------
    TypeError
        If `var` or `params` hold something else than Tensors.
    ImportError
        If the package graphviz is missing (the other formats do without).
    graphviz.ExecutableNotFound
        From ``render()`` and ``view()`` of the result, where there is no program ``dot``.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.draw import make_dot
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> dot = make_dot(pb.exp(x), {"x": x})
    >>> "AccumulateGrad -> ExpBackward0" in dot.source
    True
    """
    return digraph(model(var, params, show_attrs, show_saved, max_attr_chars, max_nodes))


def save(var: Any, path: str | Path, params: Mapping[str, Tensor] | None = None, **options: Any) -> Path:
    """Write a picture of the graph behind `var` to a file; its suffix names the format, see `Picture.save`.

    Returns the path.  `options` are those of `make_dot`.
    """
    return Picture(var, params, **options).save(path)


def svg(var: Any, params: Mapping[str, Tensor] | None = None, **options: Any) -> str:
    """The graph behind `var` as an SVG document; `options` are those of `make_dot`."""
    return Picture(var, params, **options).svg()


def mermaid(var: Any, params: Mapping[str, Tensor] | None = None, **options: Any) -> str:
    """The graph behind `var` as a Mermaid flowchart; `options` are those of `make_dot`."""
    return Picture(var, params, **options).mermaid()


def text(var: Any, params: Mapping[str, Tensor] | None = None, *, max_nodes: int | None = None, **options: Any) -> str:
    """The whole graph behind `var` as a listing, one line per operation; `options` are those of `make_dot`.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback import draw
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> y = pb.exp(x) * x
    >>> print(draw.text(y, {"x": x, "y": y}), end="")
    x: leaf ()
    ExpBackward0: (x=x) -> ()
    MulBackward0: (a=ExpBackward0, b=x) -> ()
    y: output = MulBackward0 ()
    """
    return Picture(var, params, max_nodes=max_nodes, **options).text()
