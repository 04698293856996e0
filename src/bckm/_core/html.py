"""HTML by construction: elements that escape every text, and know which tags and attributes exist.

This is the only place where text becomes HTML. Strings are data, always; there is no way to pass
markup through, and elements or attributes that can run or fetch something do not exist here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from bckm._core.names import Name, visible
from bckm._core.terminal import clean

_SVG = frozenset(["circle", "g", "line", "path", "polyline", "rect", "svg", "text"])
_VOID = frozenset(["meta"])
_NO_MARKUP = frozenset(["text", "title"])  # elements that hold text and nothing else
_HTML = """
a bdi body code dd details div dl dt figcaption figure footer h1 h2 h3 head header html li
main meta nav p pre section small span strong style summary table tbody td th thead title tr ul
"""
_KNOWN = """
aria-hidden aria-label charset class content cx cy d height href http-equiv id lang name points r
role rx scope tabindex text-anchor title transform viewBox width x x1 x2 y y1 y2
"""
_TAGS, _ATTRIBUTES = _SVG | frozenset(_HTML.split()), frozenset(_KNOWN.split())


class Css(str):
    """A stylesheet of the package itself."""

    __slots__ = ()


class Element:
    """A tag with attributes and children.

    Examples
    --------
    >>> from bckm._core.html import el
    >>> print(el("p", "1 < 2 & ", el("strong", "so"), class_='a"b'))
    <p class="a&quot;b">1 &lt; 2 &amp; <strong>so</strong></p>
    """

    __slots__ = ("attributes", "children", "tag")

    def __init__(
        self, tag: str, children: Sequence[Child], attributes: dict[str, str | int | float | None]
    ) -> None:
        if tag not in _TAGS:
            raise ValueError(f"pages have no element {tag!r}.")
        self.tag, self.children = tag, children
        self.attributes = {
            _attribute(name): value for name, value in attributes.items() if value is not None
        }
        if not str(self.attributes.get("href", "#")).startswith("#"):
            raise ValueError("links lead to places in the report itself.")

    def __str__(self) -> str:
        return "".join(self._pieces())

    def _pieces(self) -> Iterator[str]:
        words = "".join(
            f' {name}="{escape(clean(str(value)))}"' for name, value in self.attributes.items()
        )
        if self.tag in _VOID:
            yield f"<{self.tag}{words}>"
        elif self.tag in _SVG and not self.children:
            yield f"<{self.tag}{words}/>"
        else:
            yield f"<{self.tag}{words}>"
            yield from _inside(self.children, self.tag)
            yield f"</{self.tag}>"


Child = Element | str | None | Sequence["Child"]


def el(tag: str, *children: Child, **attributes: str | int | float | None) -> Element:
    """Build an element; ``class_`` is the attribute class, ``aria_label`` aria-label."""
    return Element(tag, children, attributes)


def _attribute(name: str) -> str:
    found = name.rstrip("_").replace("_", "-")
    if found not in _ATTRIBUTES:
        raise ValueError(f"pages have no attribute {found!r}.")
    return found


def _inside(children: Sequence[Child], tag: str) -> Iterator[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Element):
            yield from child._pieces()
        elif isinstance(child, Css):
            if tag != "style" or re.search(r"[<>]", child):
                raise ValueError("a stylesheet stands in its element and holds no markup.")
            yield child
        elif isinstance(child, Name):
            yield _name(child, tag)
        elif isinstance(child, str):
            yield escape(clean(child))
        else:
            yield from _inside(child, tag)


def _name(name: Name, tag: str) -> str:
    """A name of its own direction of writing; one that is too long tells its whole on demand."""
    shown = escape(visible(name))
    if tag in _NO_MARKUP:
        return shown
    whole = f' title="{escape(clean(name))}"' if len(name) > name.most else ""
    return f"<bdi{whole}>{shown}</bdi>"
