"""The report as a few lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np

from bckm._core.names import Name, shorten
from bckm.report._amounts import bound_writer, held
from bckm.report._facts import Facts, saved_told
from bckm.report.words import between, counted, number, plain
from bckm.study import views

CLUSTERS = 20  # rows of the table
LOSSES = 5  # violated rules
BAR = 16  # cells of a bar
AMOUNTS = 24  # columns of the table, or tables
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def text_of(facts: Facts, width: int, blocks: bool) -> str:
    """The short form; `blocks` are characters that not every terminal has."""
    study = facts.study
    lines = [plain([Name(study.title)]), *wrap(facts.headline, width), ""]
    lines += _pairs(facts.figures, width)
    lines += wrap(" ".join(facts.ending), width)
    lines += wrap(plain([facts.judged]), width) if facts.judged else []
    lines += [""]
    lines += _clusters(facts, width, blocks)
    lines += _rules(facts, width)
    found = "\n".join(line.rstrip() for line in lines) + "\n"
    return found if blocks else _ascii(found)


def _ascii(text: str) -> str:
    """Without characters that old terminals lack; names lose what they cannot show."""
    for old, new in (
        ("–", "-"),
        ("∞", "inf"),
        ("\u2212", "-"),
        ("…", "..."),
        ("✓", "ok"),
        ("▲", "!"),
    ):
        text = text.replace(old, new)
    return text.encode("ascii", "replace").decode("ascii")


def _pairs(figures: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Names and values in as few lines as fit."""
    lines = [""]
    for name, value in figures:
        one = f"{name.lower()} {plain([value])}"
        if lines[-1] and len(lines[-1]) + len(one) + 3 > width:
            lines.append("")
        lines[-1] += f" · {one}" if lines[-1] else one
    return lines


def _clusters(facts: Facts, width: int, blocks: bool) -> list[str]:
    """Sizes, loads and shares: with bars as far as they fit side by side, then without."""
    rows = facts.study.n_clusters
    shown = rows if rows <= CLUSTERS + 2 else CLUSTERS
    first = _aligned(["cluster", *[plain([one.name]) for one in facts.clusters[:shown]]])
    used = facts.amounts[:AMOUNTS]
    barred = [one for one in used if one.kind != "share"]
    tables: list[list[list[str]]] = [[first]]
    for one in barred[:3]:
        column = _column(one, blocks)
        if len(tables[0]) > 1 and _wide([*tables[0], column]) > width:
            break
        tables[0].append(column)
    done = len(tables[0]) - 1
    rest = [one for one in used if one not in barred[:done]]
    for column in [_column(one, blocks, bars=False) for one in rest]:
        if len(tables) == 1 or _wide([*tables[-1], column]) > width:
            tables.append([first])
        tables[-1].append(column)
    lines = []
    for table in tables:
        lines += ["  ".join(column[at] for column in table) for at in range(shown + 1)]
        if shown < rows:
            lines.append(f"… and {counted(rows - shown, 'more cluster')}")
        lines.append("")
    if len(facts.amounts) > AMOUNTS:
        lines += [f"… and {len(facts.amounts) - AMOUNTS} more bounded quantities", ""]
    return lines


def _wide(table: Sequence[Sequence[str]]) -> int:
    return sum(len(column[0]) + 2 for column in table) - 2


def _aligned(cells: Sequence[str], left: bool = False) -> list[str]:
    wide = max(map(len, cells))
    return [cell.ljust(wide) if left else cell.rjust(wide) for cell in cells]


def _column(one: views.Amount, blocks: bool, *, bars: bool = True) -> list[str]:
    """Numbers, bars and bounds of an amount, with its name on top."""
    k = one.values.size if one.values.size <= CLUSTERS + 2 else CLUSTERS
    low, high = one.limits
    known = np.concatenate([one.values, high[np.isfinite(high)], [0.0]])
    most = float(known.max()) or 1.0
    numbers = _aligned(held(one)[:k])
    drawn = [_bar(one.values[i] / most, high[i] / most, blocks) if bars else "" for i in range(k)]
    bounds = [between(low[i], high[i], bound_writer(one)) if one.bounded else "" for i in range(k)]
    flags = [" ▲" if wrong else "" for wrong in one.broken[:k]]
    parts = zip(numbers, drawn, bounds, flags, strict=True)
    rows = [f"{a} {b} {c}{d}" if bars else f"{a} {c}{d}" for a, b, c, d in parts]
    return _aligned([plain([Name(shorten(one.name, 24))]), *rows], left=True)


def _bar(value: float, high: float, blocks: bool) -> str:
    """A bar from zero to the most there is; light shade: what is allowed beyond it."""
    if not blocks:
        full = round(BAR * max(value, 0.0))
        return ("#" * full).ljust(BAR, ".")
    eighths = round(8 * BAR * max(value, 0.0))
    whole, rest = divmod(eighths, 8)
    bar = "█" * whole + (_EIGHTHS[rest] if rest else "")
    up = BAR if high == float("inf") else round(BAR * high)
    return (bar + "░" * max(up - len(bar), 0)).ljust(BAR)


def _rules(facts: Facts, width: int) -> list[str]:
    lines = []
    for one in facts.checked.stated:
        missed = one.asked - one.kept
        sign = "✓" if not missed else "▲"
        word = "" if not missed else f" ({missed:,} {'violated' if one.soft else 'BROKEN'})"
        lines.append(f"{sign} {one.scored(soft=one.soft)}{word}")
        if one.moved:
            lines.append(shorten(f"  {plain(one.moved)}", width))
    for sentence in facts.checked.broken[:LOSSES]:
        lines.append(shorten(f"  BROKEN: {plain(sentence)}", width))
    if facts.violated:
        told = facts.violated[:LOSSES]
        paid = _aligned(["penalty", *[number(lost.penalty) for _, lost in told]])
        saved = _aligned(["saved", *[saved_told(lost, "–") for _, lost in told]])
        words = ["violated, most expensive first", *[plain(sentence) for sentence, _ in told]]
        rows = zip(paid, saved, words, strict=True)
        lines += ["", *[shorten("  ".join(row), width) for row in rows]]
    more = len(facts.violated) - LOSSES
    return [*lines, f"… and {more:,} more"] if more > 0 else lines
