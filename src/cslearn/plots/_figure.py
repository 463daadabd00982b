"""Figures that are drawn in points, and that give the same file for the same picture. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from math import hypot
from typing import IO, Any, cast

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager, get_font
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from cslearn._files import atomic_write
from cslearn.errors import InputError
from cslearn.plots._words import one_line
from cslearn.plots.layout import Point, Size

__all__ = ["Canvas", "Picture", "plain", "text_size"]

# Dark text, and the colours of Okabe and Ito where things have to be told apart.
INK = "#1F2933"
FAINT = "#66737F"
EDGE = "#43556A"
LABEL = "#B34700"
NODE_FILL, NODE_RIM = "#EAF1F8", "#35618A"
FIXED_FILL, FIXED_RIM = "#FBEBB5", "#9A6700"

FONT = "DejaVu Sans"  # matplotlib brings it along
# Families with outlines for signs that it lacks, used where they are installed.
MORE_FONTS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Emoji", "Symbola", "Segoe UI Symbol", "Arial Unicode MS")
NODE_POINTS, LABEL_POINTS, SMALL_POINTS = 11.0, 9.0, 8.5
FORMATS = ("svg", "pdf", "png")


class Picture(Figure):
    """A matplotlib figure that shows itself in notebooks and is saved the same for the same content.

    Use ``picture.savefig("picture.svg")``; the format is that of the extension: SVG, PDF or PNG, or another one that
    matplotlib writes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def savefig(self, fname: str | os.PathLike[str] | IO[bytes], **options: Any) -> None:
        """Write the picture to a file, whole or not at all.

        Parameters
        ----------
        fname : str, path or binary file
        **options
            Those of :meth:`matplotlib.figure.Figure.savefig`, such as ``dpi`` or ``transparent``.
        """
        if not isinstance(fname, str | os.PathLike):
            self._save(fname, **options)
            return
        kind = str(options.pop("format", None) or os.path.splitext(os.fspath(fname))[1][1:]).lower()
        if kind not in self.canvas.get_supported_filetypes():
            raise InputError(f"a picture cannot be written as {os.fspath(fname)}: end the name in .svg, .pdf or .png")
        content = BytesIO()
        self._save(content, format=kind, **options)
        atomic_write(fname, content.getvalue())

    def _save(self, file: IO[bytes], **options: Any) -> None:
        kind = str(options.setdefault("format", "png")).lower()
        nothing: dict[str, dict[str, str | None]] = {
            "svg": {"Date": None, "Creator": f"cslearn, matplotlib {matplotlib.__version__}"},
            "pdf": {"CreationDate": None},
            "png": {"Software": None},
        }
        options["metadata"] = {**nothing.get(kind, {}), **options.get("metadata", {})}
        options.setdefault("dpi", 150 if kind == "png" else "figure")
        with matplotlib.rc_context({"svg.hashsalt": "cslearn", "svg.fonttype": "path", "text.usetex": False}):
            super().savefig(file, **options)

    def to_svg(self) -> str:
        """Return the picture as the text of an SVG file."""
        content = BytesIO()
        self._save(content, format="svg")
        return content.getvalue().decode("utf-8")

    def _repr_svg_(self) -> str:
        # Without the head of the file, which HTML does not know.
        svg = self.to_svg()
        return svg[svg.index("<svg") :]


# ---------------------------------------------------------------- text
@lru_cache(maxsize=1)
def _families() -> tuple[str, ...]:
    installed = set(fontManager.get_font_names())
    return (FONT, *(family for family in MORE_FONTS if family in installed))


@lru_cache(maxsize=1)
def _signs() -> frozenset[int]:
    """Return the characters that the fonts have."""
    found: set[int] = set()
    for family in _families():
        found.update(get_font(matplotlib.font_manager.findfont(FontProperties(family=family))).get_charmap())
    return frozenset(found)


def plain(text: Any) -> str:
    """Return text that can be drawn: signs that no font has are given by their code, such as ``⟨1F600⟩``."""
    return "".join(sign if sign == "\n" or ord(sign) in _signs() else f"⟨{ord(sign):X}⟩" for sign in str(text))


def font(size: float, bold: bool = False, italic: bool = False) -> FontProperties:
    """Return the font of the pictures."""
    return FontProperties(
        family=list(_families()), size=size, weight="bold" if bold else "normal", style="italic" if italic else "normal"
    )


_SCALE = 10  # text is measured at ten times its size, where hinting does not matter


@lru_cache(maxsize=1)
def _measure() -> RendererAgg:
    return RendererAgg(8, 8, 72 * _SCALE)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=4096)
def text_size(text: str, points: float, bold: bool = False) -> Size:
    """Return the width and height of text, of one or more lines, in points."""
    measure: Any = _measure()
    properties = font(points, bold)
    widths = [measure.get_text_width_height_descent(line, properties, False)[0] for line in text.split("\n")]
    return max(widths) / _SCALE, 1.25 * points * len(widths)


# ---------------------------------------------------------------- drawing
class Canvas:
    """A drawing of a given size in points from its top left corner, on a figure of its own or scaled into axes."""

    def __init__(self, size: Size, ax: Axes | None = None, margin: float = 10.0) -> None:
        width, height = max(size[0], 20.0) + 2 * margin, max(size[1], 20.0) + 2 * margin
        self.scale = 1.0
        if ax is None:
            figure = Picture(figsize=(width / 72, height / 72), dpi=100, facecolor="white")
            self.ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        else:
            self.ax = ax
            box = ax.get_position()
            inches = cast(Figure, ax.figure).get_size_inches()
            self.scale = min(72 * inches[0] * box.width / width, 72 * inches[1] * box.height / height)
        self.ax.set_axis_off()
        self.ax.set_xlim(-margin, width - margin)
        self.ax.set_ylim(height - margin, -margin)
        self.ax.set_aspect("equal")

    @property
    def figure(self) -> Figure:
        """The figure that is drawn on."""
        return cast(Figure, self.ax.figure)

    def text(
        self,
        at: Point,
        text: str,
        points: float,
        *,
        colour: str = INK,
        bold: bool = False,
        italic: bool = False,
        align: str = "center",
        vertical: str = "center",
        role: str = "text",
        z: float = 5.0,
    ) -> None:
        """Write text as it is: no sign of it is taken for mathematics."""
        self.ax.text(
            *at,
            text,
            fontproperties=font(points * self.scale, bold, italic),
            color=colour,
            ha=align,
            va=vertical,
            linespacing=1.25,
            parse_math=False,
            usetex=False,
            zorder=z,
            label=f"_{role}",
        )

    def box(
        self,
        at: Point,
        size: Size,
        fill: str,
        rim: str,
        width: float = 1.1,
        z: float = 3.0,
        round_by: float = 6.0,
        role: str = "box",
    ) -> None:
        """Draw a box with round corners around a centre."""
        (x, y), (w, h) = at, size
        self.ax.add_artist(
            FancyBboxPatch(
                (x - w / 2, y - h / 2),
                w,
                h,
                boxstyle=f"round,pad=0,rounding_size={min(round_by, h / 2, w / 2)}",
                facecolor=fill,
                edgecolor=rim,
                linewidth=width * self.scale,
                zorder=z,
                label=f"_{role}",
            )
        )

    def line(
        self, points: Sequence[Point], colour: str, width: float = 1.2, *, dashed: bool = False, z: float = 1.0
    ) -> None:
        """Draw a straight line through points."""
        self._stroke(Path(list(points)), colour, width, dashed, z)

    def arrow(self, curve: Sequence[Point], colour: str, width: float = 1.2, *, dashed: bool = False) -> None:
        """Draw a curve of Bézier pieces with an arrow head at its end."""
        tip, before = curve[-1], curve[-2]
        length = hypot(tip[0] - before[0], tip[1] - before[1]) or 1.0
        dx, dy = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
        size = 6.0 + 1.1 * width
        base = (tip[0] - size * dx, tip[1] - size * dy)
        inner = (tip[0] - 0.7 * size * dx, tip[1] - 0.7 * size * dy)
        shift = (inner[0] - tip[0], inner[1] - tip[1])
        points = [*curve[:-2], (before[0] + shift[0], before[1] + shift[1]), inner]
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)]
        # A rim of the paper's colour lets a line pass over another one.
        self._stroke(Path(points, codes), "white", width + 2.4, False, 1.0)
        self._stroke(Path(points, codes), colour, width, dashed, 1.0)
        half = 0.38 * size
        corners = [tip, (base[0] - half * dy, base[1] + half * dx), inner, (base[0] + half * dy, base[1] - half * dx)]
        self.ax.add_artist(Polygon(corners, closed=True, facecolor=colour, edgecolor="none", zorder=2.0))

    def _stroke(self, path: Path, colour: str, width: float, dashed: bool, z: float) -> None:
        style: Any = (0.0, (5.0 / width + 0.6, 2.6 / width + 0.6)) if dashed else "solid"
        self.ax.add_artist(
            PathPatch(
                path,
                facecolor="none",
                edgecolor=colour,
                linewidth=width * self.scale,
                linestyle=style,
                capstyle="butt",
                zorder=z,
            )
        )


@contextmanager
def charts(size: Size) -> Iterator[tuple[Picture, Axes]]:
    """Give a figure with axes for a chart, of a size in points; labels on it are drawn as they are."""
    with matplotlib.rc_context({"font.family": list(_families()), "font.size": 9.0, "text.usetex": False}):
        figure = Picture(figsize=(size[0] / 72, size[1] / 72), dpi=100, facecolor="white", layout="constrained")
        ax = figure.add_subplot()
        ax.spines[["top", "right"]].set_visible(False)
        yield figure, ax


def names_on_axis(axis: Any, names: Sequence[Any], **options: Any) -> None:
    """Put names, as they are, at 0, 1, 2, ... of an axis."""
    shown = []
    for name in names:
        line = plain(one_line(name))
        shown.append(line if len(line) <= 30 else line[:29] + "…")
    axis.set_ticks(range(len(shown)), labels=shown, parse_math=False, **options)
