"""What all displays share: axes, text that is drawn as it is written, the study of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

from bckm.constraints import Constraints, as_constraints
from bckm.study import Study
from bckm.study.views import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

INK, PALE = "#222222", "#666666"
TITLE = 60  # letters that fit above the axes
# fonts with letters that matplotlib's own lacks; those that are installed are used
_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR",
    "Source Han Sans SC", "WenQuanYi Zen Hei", "Microsoft YaHei", "SimHei", "PingFang SC",
    "Hiragino Sans", "Yu Gothic", "MS Gothic", "Malgun Gothic", "Apple SD Gothic Neo",
    "Arial Unicode MS", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Segoe UI",
    "Noto Sans Symbols", "Noto Sans Symbols 2",
)  # fmt: skip


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "bckm.plotting needs matplotlib, which is not installed; run: pip install 'bckm[plot]'"
        ) from error
    return plt


def tidy(ax: Axes, grid: str = "both") -> None:
    """No frame but the two axes, and a light grid behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("0.6")
    ax.tick_params(color="0.6", labelsize=9)
    ax.set_axisbelow(True)
    ax.yaxis.get_offset_text().set(ha="right", fontsize=8)  # not where the title is
    ax.grid(False)
    if grid:
        ax.grid(axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _letters(path: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(path).get_charmap())


def say(artist: Text, text: str, most: int = TITLE) -> Text:
    """Let an artist show text of a person: no formula, no control characters, no missing letters.

    Letters that no font has become boxes here, because matplotlib would warn of each.
    """
    from matplotlib import font_manager

    shown = clean(text, most)
    has = _letters(font_manager.findfont(artist.get_fontproperties()))
    missing = {one for one in shown if ord(one) not in has}
    if missing:
        installed = set(font_manager.get_font_names())
        more = []
        for name in _FONTS:
            if missing and name in installed:
                other = _letters(font_manager.findfont(name))
                if any(ord(one) in other for one in missing):
                    more.append(name)
                    missing = {one for one in missing if ord(one) not in other}
        if more:
            artist.set_fontfamily([*artist.get_fontfamily(), *more])
    box = "□" if ord("□") in has else "?"
    artist.set_text("".join(box if one in missing else one for one in shown))
    artist.set_parse_math(False)
    artist.set_usetex(False)
    return artist


def name_ticks(axis: Axis, places: Sequence[float], words: Sequence[str]) -> None:
    """Write names of a person at the ticks of an axis."""
    axis.set_ticks(places, labels=[""] * len(places))
    labels = axis.get_ticklabels()
    shown = [say(label, word, 12).get_text() for label, word in zip(labels, words, strict=True)]
    # texts that are not in the formatter are lost, and a tick has two of them
    axis.set_ticks(places, labels=shown, parse_math=False, usetex=False)


def plain_ticks(ax: Axes) -> None:
    """Numbers in full, as far as they can be read: 1000001, not 1 and elsewhere +1e6."""
    from matplotlib.ticker import ScalarFormatter

    for axis in (ax.xaxis, ax.yaxis):
        formatter = ScalarFormatter(useOffset=False, useMathText=False)
        formatter.set_powerlimits((-4, 8))
        axis.set_major_formatter(formatter)


def heading(ax: Axes, title: str, note: str = "") -> None:
    """What a picture says, above it; and below that, smaller, what it leaves out."""
    artist = ax.set_title("", loc="left", fontsize=11, pad=20 if note else 8)
    say(artist, title, 2 * TITLE)
    if note:
        remark = ax.annotate(
            "", (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points",
            fontsize=8.5, color=PALE, va="bottom", annotation_clip=False,
        )  # fmt: skip
        say(remark, note, 2 * TITLE)


def figures(value: float, digits: int = 4) -> str:
    """A number as people write it: 1,234 or 0.0123."""
    if value == 0 or not abs(value) < 1e15:
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def span(values: Any, unit: str = "") -> str:
    """From the least to the largest value: '28 to 32', or '30' where all are equal."""
    low, high = figures(float(values.min())), figures(float(values.max()))
    return (low if low == high else f"{low} to {high}") + (f" {unit}" if unit else "")


class Display(ABC):
    """A plot with its data; `plot` draws it, as often as needed.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Axes of the last drawing.
    figure_ : matplotlib.figure.Figure
        The figure of these axes.
    """

    ax_: Axes
    figure_: Figure

    def __repr__(self) -> str:  # its data would fill a notebook
        return f"{type(self).__name__}()"

    def _begin(self, ax: Axes | None, width: float, height: float) -> Axes:
        """Take the given axes, or those of a new figure."""
        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        self.ax_ = cast("Axes", ax)
        self.figure_ = cast("Figure", self.ax_.get_figure(root=True))
        return self.ax_

    @classmethod
    @abstractmethod
    def from_study(cls, study: Study, **options: Any) -> Self:
        """Create and draw the plot of a study."""

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,  # noqa: N803
        constraints: Constraints | None = None,
        *,
        amounts: Any = None,
        sample_weight: Any = None,
        sample_id: Any = None,
        **options: Any,
    ) -> Self:
        """Create and draw the plot of a fitted `ConstrainedKMeans`.

        Parameters
        ----------
        model : ConstrainedKMeans
            Fitted model.
        X : array of shape (n_samples, n_features) or frame
            The data of the fit.
        constraints : Constraints, optional
            The rules about samples passed to `fit`, including links; sizes and capacities are those
            of the model.
        amounts, sample_weight, sample_id : optional
            As in `fit`.
        **options
            Options of `from_study`.

        Returns
        -------
        Display
            The plot, with attributes `ax_` and `figure_`.
        """
        result = getattr(model, "result_", None)
        if result is None:
            raise ValueError(f"this {type(model).__name__} is not fitted yet; call fit first.")
        n = int(result.sizes.sum())
        rules = Constraints(size_min=model.size_min, size_max=model.size_max).resolved(n)
        if amounts is not None:
            rules = model._own_rules(n, amounts)
        rules &= as_constraints(constraints).resolved(n)
        study = Study.of(result, X, rules, sample_id=sample_id, sample_weight=sample_weight)
        return cls.from_study(study, **options)
