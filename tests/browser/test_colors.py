"""Contrast of the page's texts, from the variables of its style: WCAG AA, light and dark."""

from __future__ import annotations

import re

import pytest

from tests.browser.mock import STATIC

STYLE = (STATIC / "style.css").read_text("utf-8")
GROUNDS = ("ground", "panel", "raised")
SOFT = ("accent-soft", "wrong-soft", "fine-soft", "advice-soft")
TEXTS = [(ink, ground) for ink in ("ink", "soft") for ground in (*GROUNDS, *SOFT)]
TEXTS += [(ink, ground) for ink in ("accent", "wrong", "fine") for ground in GROUNDS]
TEXTS += [(ink, f"{ink}-soft") for ink in ("accent", "wrong", "fine")]
TEXTS += [("accent-ink", "accent")]
# what must be seen, and is no text: 3 to 1
SIGNS = [(ink, ground) for ink in ("together", "accent", "wrong") for ground in GROUNDS]


def _colors(theme: str) -> dict[str, str]:
    block = re.search(rf"^{re.escape(theme)} {{(.*?)^}}", STYLE, re.M | re.S)
    assert block is not None
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block[1]))


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(w * one for w, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_defined():
    assert _contrast("#ffffff", "#000000") == pytest.approx(21)
    assert _contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [":root", '[data-theme="dark"]'])
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (SIGNS, 3.0)])
def test_contrast(theme, pairs, least):
    colors = _colors(theme)
    found = {pair: round(_contrast(*(colors[one] for one in pair)), 2) for pair in pairs}
    assert {pair: value for pair, value in found.items() if value < least} == {}


def test_both_themes_have_all_colors():
    assert _colors(":root").keys() == _colors('[data-theme="dark"]').keys()
