"""Words on plots: what fits where, so that no two labels lie on one another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text

LONGEST = 40
PAD_PX = 16.0
FARTHEST_PX = 110.0
INK = "#222222"


def drawable(words: str, longest: int = 200) -> str:
    """The words on one line, cut to length, with "?" for what the font has no glyph for."""
    line = " ".join(words.split())
    line = "".join(c if c == " " or _in_font(c) else "?" for c in line).replace("$", r"\$")
    return line if len(line) <= longest else line[: longest - 1].rstrip("\\ ") + "…"


def width_px(text: Text) -> float:
    """How wide a text is once drawn."""
    figure = text.get_figure(root=True)
    assert figure is not None
    renderer = cast(FigureCanvasAgg, figure.canvas).get_renderer()  # type: ignore[no-untyped-call]
    return text.get_window_extent(renderer).width


def shrink_to_fit(text: Text, available_px: float, smallest: float = 7.0) -> None:
    """Make the type smaller until the text is no wider than ``available_px``."""
    size = float(text.get_fontsize())
    while width_px(text) > available_px and size > smallest:
        size -= 0.25
        text.set_fontsize(size)


def label_spans(strip: Axes, spans: Sequence[tuple[float, float, str]], *, overflow: bool) -> None:
    """Write each span's name in it; what does not fit goes above it (``overflow``) or is left out."""
    box = strip.get_window_extent()
    start, end = strip.get_xlim()
    px_per_s = box.width / (end - start)
    free_from_px = 0.0
    for left_s, right_s, name in spans:
        middle_px = ((left_s + right_s) / 2 - start) * px_per_s
        text = strip.text(
            middle_px / px_per_s,
            0.46,
            drawable(name, LONGEST),
            ha="center",
            va="center",
            fontsize=8.5,
            color=INK,
        )
        width = width_px(text)
        if width + 6 <= (right_s - left_s) * px_per_s:
            continue
        at_px = min(max(middle_px - width / 2, free_from_px), box.width - width)
        if not overflow or at_px < free_from_px or at_px - middle_px > FARTHEST_PX:
            text.remove()
            continue
        _lift(strip, text, at_px / px_per_s, middle_px / px_per_s, (at_px + min(width, 12) / 2) / px_per_s)
        free_from_px = at_px + width + PAD_PX


def _lift(strip: Axes, text: Text, at_s: float, middle_s: float, foot_s: float) -> None:
    text.set(x=at_s, y=1.32, ha="left", va="bottom")
    foot = middle_s if at_s <= middle_s <= at_s + 1e-9 or middle_s > foot_s else foot_s
    strip.plot([middle_s, foot], [1.0, 1.38], color="#888888", lw=0.7, clip_on=False)


@cache
def _in_font(character: str) -> bool:
    font = get_font(findfont(FontProperties()))
    return character.isprintable() and font.get_char_index(ord(character)) != 0
