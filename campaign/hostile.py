"""Hostile strings through every output: as id, column, category, group, title, name of a file.

Nothing reaches a terminal that it would obey, no cell becomes a formula, no markup acts, and what
is read back is what was written.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

import numpy as np
from click.testing import CliRunner

import bckm
from bckm import report
from bckm.cli import cli
from bckm.plan import Clause, Plan, PlanError, read_plan, write_plan
from bckm.tables import Table, TableError, read_table, write_table
from campaign.part import Case, Part
from campaign.strings import STRINGS
from tests.support.as_json import told
from tests.support.markup import foreign_html, foreign_markdown

# characters that a terminal obeys, or that turn its text round; lines end with \n
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
SVG = {
    *("svg", "g", "path", "text", "tspan", "defs", "clipPath", "rect", "use", "style"),
    *("metadata", "title", "desc", "image", "marker", "pattern"),
}


def look(case: Case) -> None:
    """Take one string through everything."""
    word = STRINGS[case.number % len(STRINGS)]
    turn = case.number // len(STRINGS)  # further rounds with other data
    case.count(PART.what)
    _tables(case, word)
    _rules_file(case, word)
    study = _study(word, turn)
    _report(case, word, study)
    _archive(case, study)
    _pictures(case, study)
    _command(case, word)


# -- tables ---------------------------------------------------------------------------------------


def _tables(case: Case, word: str) -> None:
    name = word if word.strip() else "blank"
    columns = {f"{name}id": ["begin", word, f"{word}2", "end"], "other": [word, "b", "c", "d"]}
    for kind in ("csv", "tsv", "xlsx", "parquet", "jsonl", "npz"):
        out = io.BytesIO()
        try:
            table = Table.of(columns)
            write_table(table, out, format=kind)
        except TableError as error:  # NUL, half pairs, what a format has no letters for
            assert not OBEYED.search(str(error)), (kind, str(error))
            case.count("refused by a format")
            continue
        content = out.getvalue()
        again = read_table("-", stdin=io.BytesIO(content), format=kind)
        assert kept(again.names) == kept(table.names), (kind, again.names)
        for column, name in zip(table.names, again.names, strict=True):
            cells = again.cells(name)
            assert kept(cells) == kept(table.cells(column)), (kind, cells)
        case.count("tables")
        if kind in ("csv", "tsv"):
            no_formulas(content.decode(), "," if kind == "csv" else "\t")
        elif kind == "xlsx":
            no_formulas_in_book(content)


def kept(cells: Any) -> list[str]:
    """Texts as far as a file can hold them: NUL, half pairs and the like are no letters."""
    return [re.sub("[\x00\ud800-\udfff\ufffd-\uffff]", "?", cell or "") for cell in cells]


def no_formulas(text: str, delimiter: str) -> None:
    """Raise if a spreadsheet would compute a cell."""
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        for cell in row:
            bare = cell.lstrip("\x00\x01\x1b\x7f\ufeff\u200b\u202e \t\r\n\xa0\u3000").strip()
            number = re.fullmatch(r"[+-]?[0-9]*[.,]?[0-9]*([eE][+-]?[0-9]+)?", bare)
            assert number or not re.match("[=+@\uff1d\uff0b\uff0d\uff20-]", bare), cell


def no_formulas_in_book(content: bytes) -> None:
    """Raise if a workbook holds a formula, a link or anything outside."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        for part in book.namelist():
            text = book.read(part).decode()
            assert not re.search(r"<f[\s>/]|<hyperlink|externalLink|ddeLink|oleLink", text), part


# -- rules, reports, archives ---------------------------------------------------------------------


def _rules_file(case: Case, word: str) -> None:
    path = case.folder / "rules.toml"
    try:
        clauses = (
            Clause.read("together", {"ids": [word, f"{word}2"]}),
            Clause.read("quota", {"column": word, "count_max": {word: 3.5}}),
            Clause.read("capacity", {"column": word, "max": [1.0, 2.0]}),
            Clause.read("fixed", {"id": word, "cluster": word}),
        )
        plan = Plan(clusters=2, id=word, columns=(word, "x"), weight=word, clauses=clauses)
        write_plan(plan, path)
    except PlanError as error:
        assert not word, error
        return
    except UnicodeEncodeError:
        assert re.search("[\ud800-\udfff]", word)
        return
    assert repr(read_plan(path)) == repr(plan)
    case.count("rules files")


def _study(word: str, turn: int) -> bckm.Study:
    rng = np.random.default_rng(turn)
    n = 12
    X = rng.normal(size=(n, 2))
    names = [word, *(f"{word}{p}" for p in range(1, n))]
    hard = bckm.Constraints(
        must_link=[(0, 1)],
        groups=[word if p in (2, 3) else None for p in range(n)],
        capacities={word: bckm.Capacity(np.ones(n), max=9.0)},
        quotas=bckm.Quota([word, f"{word}!"] * (n // 2), share_max=0.9, name=word),
        fixed={4: word},
        cluster_names=[word, f"{word}2"],
    )
    soft = bckm.Constraints(cannot_link=[(0, 1)], must_link=[(5, 6)]).soft(price=1e-3)
    far = bckm.Constraints(capacities={word: bckm.Capacity(X[:, 0], max=-9.0)}).soft(price=1e-3)
    rules = hard & soft & far
    result = bckm.kmeans(X, 2, rules, random_state=0, n_init=1, search="none")
    settings = {"command": word, word: word, "versions": {word: word}, "notes": [word]}
    return bckm.Study.of(
        result,
        X,
        rules,
        feature_names=[word, f"{word}2"],
        sample_id=names,
        title=word,
        settings=settings,
    )


def _report(case: Case, word: str, study: bckm.Study) -> None:
    page = report.html(study)
    assert foreign_html(page) == []
    source, text = report.markdown(study), report.text(study)
    assert foreign_markdown(source) <= {"fence"}, foreign_markdown(source)  # the command
    for form in (page, source, text, report.text(study, blocks=False)):
        assert not OBEYED.search(form), OBEYED.search(form)
        form.encode()
    summary = json.loads(json.dumps(report.summary(study), allow_nan=False))
    assert summary["title"] == word
    assert summary["features"] == [word, f"{word}2"]
    json.dumps(report.summary(study)).encode("ascii")
    both = report.compare([study, study], [word, f"{word}2"])
    assert not OBEYED.search(both.text())
    assert foreign_markdown(both.markdown()) == set()
    for violation in bckm.verify(1 - study.result.labels, 2, study.constraints):
        str(violation)
    case.count("reports", 4)


def _archive(case: Case, study: bckm.Study) -> None:
    path = case.folder / "x.bckm"
    bckm.save(study, path)
    assert told(bckm.load(path)) == told(study)


def _pictures(case: Case, study: bckm.Study) -> None:
    """Text of SVG files: letters, and nothing that acts."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    from bckm.plotting import ClustersDisplay, SizesDisplay
    from bckm.study.views import amounts

    last = amounts(study)[-1].name
    with mpl.rc_context({"svg.fonttype": "none"}):
        for draw in (ClustersDisplay.from_study, lambda one: SizesDisplay.from_study(one, last)):
            shown = draw(study)
            out = io.BytesIO()
            shown.figure_.savefig(out, format="svg")
            plt.close(shown.figure_)
            harmless(out.getvalue())
            case.count("pictures")


def harmless(content: bytes) -> None:
    """Raise unless an SVG holds shapes and letters only."""
    for element in ElementTree.fromstring(content).iter():
        home, _, tag = element.tag.rpartition("}")
        if home != "{http://www.w3.org/2000/svg":  # of metadata, which matplotlib writes itself
            assert "w3.org" not in home or "rdf" in home, element.tag
            continue
        assert tag in SVG, tag
        for name, value in element.attrib.items():
            name = name.rpartition("}")[2]
            assert not name.lower().startswith("on"), name
            assert name != "href" or value.startswith(("#", "data:image/png")), value


# -- command line ---------------------------------------------------------------------------------


def _command(case: Case, word: str) -> None:
    """Names of columns, rows, files and options that are not there: what a terminal gets to see."""
    folder = case.folder
    plain = re.sub("[/\x00\ud800-\udfff]", "", word)[:60] or "plain"
    column = plain if plain.strip() else "blank"
    if len(column.encode()) > 200:
        column = column[:40]
    rows = [[f"{column}{p}", str(p * 1.7 % 5), str(p % 3), column] for p in range(12)]
    with (folder / "data.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow([f"{column}q", "x", f"w{column}", "team"])
        writer.writerows(
            [f"'{row[0]}" if row[0][0] in "'=+-@" else row[0], *row[1:]] for row in rows
        )
    try:
        table = read_table(folder / "data.csv")
    except TableError as error:
        assert not OBEYED.search(str(error)), str(error)
        return
    first, data = table.names[0], str(folder / "data.csv")
    asked = [
        ["fit", data, "-k", "2", "--columns", "x", "--title", word],
        ["fit", data, "-k", "2", "--columns", "x", "--id", first, "--together", "team"],
        ["fit", data, "-k", "2", "--columns", column],
        ["fit", data, "-k", "2", "--columns", "x", "--together", f"{column}Q"],
        ["fit", data, "-k", "2", "--columns", "x", "--capacity", f"{column}::5"],
        ["fit", data, "-k", "2", "--columns", first],
        ["fit", data, "-k", word],
        ["check", data, "-k", "2", "--id", first, "--apart", "team"],
        ["check", data, "-k", "2", "--rules", str(folder / "no" / plain)],
        ["verify", data, "-k", "2", "--label-column", word],
        ["show", data],
        [word],
    ]
    for words in asked:
        if words[0] == "fit":
            words += [
                "-o",
                str(folder / f"{_file(plain)}.csv"),
                "--search",
                "none",
                "--n-init",
                "1",
            ]
        done = CliRunner().invoke(cli, words)
        case.count("commands")
        assert done.exit_code in (0, 1, 2, 3, 5, 6), (words, done.exception)
        for stream in (done.stdout, done.stderr):
            found = OBEYED.search(stream)
            assert not found, (words, stream[max(found.start() - 60, 0) : found.end() + 20])
    written = folder / f"{_file(plain)}.csv"
    if written.is_file():
        no_formulas(written.read_text("utf-8"), ",")
        assert list(read_table(written).cells(first)) == list(table.cells(first))


def _file(name: str) -> str:
    found = name.strip(". ").replace("\\", "")[:40]
    return found or "plain"


PART = Part("hostile", "hostile strings", len(STRINGS), look, chunk=10)
assert PART.count >= 300
