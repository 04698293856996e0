"""Parsers of reports that list what no report of ours holds, whatever the data."""

from __future__ import annotations

from html.parser import HTMLParser

from markdown_it import MarkdownIt

TAGS = """a bdi body circle code dd details div dl dt figcaption figure footer g h1 h2 h3
head header html li line main meta nav p path polyline pre rect section small span strong style
summary svg table tbody td text th thead title tr ul""".split()  # noqa: SIM905
ATTRIBUTES = """aria-hidden aria-label charset class content cx cy d height href http-equiv id lang
name points r role rx scope tabindex text-anchor title transform viewbox width x x1 x2 y y1
y2""".split()  # noqa: SIM905
PLAIN = {"text", "softbreak", "strong_open", "strong_close"}


class HtmlReader(HTMLParser):
    """Lists what is in a page, and what must not be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.wrong.append(f"{tag}[{name}]")
            if name == "href" and not str(value).startswith("#"):
                self.wrong.append(f"{tag}[href={value}]")
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> out of place")

    def handle_comment(self, data: str) -> None:
        self.wrong.append("a comment")

    def handle_pi(self, data: str) -> None:
        self.wrong.append("an instruction")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def foreign_html(page: str) -> list[str]:
    """Elements and attributes that no page of ours has, and what is not closed."""
    reader = HtmlReader()
    reader.feed(page)
    reader.close()
    return reader.wrong + [f"<{tag}> is not closed" for tag in reader.open]


def foreign_markdown(source: str) -> set[str]:
    """Kinds of tokens that a report does not have: HTML, links, pictures, code, emphasis."""
    found = set()
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source):
        if token.type in ("html_block", "fence", "code_block", "blockquote_open", "hr"):
            found.add(token.type)
        found |= {one.type for one in token.children or [] if one.type not in PLAIN}
    return found


def widths(source: str) -> set[tuple[int, int]]:
    """Cells of the rows of each table: the table, and how many."""
    found, table, row = set(), 0, 0
    for token in MarkdownIt("commonmark").enable("table").parse(source):
        table += token.type == "table_open"
        row = 0 if token.type == "tr_open" else row + (token.type in ("td_open", "th_open"))
        if token.type == "tr_close":
            found.add((table, row))
    return found
