"""Options that do not fit the file, or say nothing, are refused; none is ignored."""

import numpy as np
import pytest

from bckm.tables import OptionError, Table, read_table, write_table

KINDS = ("csv", "tsv", "jsonl", "npz", "parquet", "xlsx")
# what may be said of which kind of file
MAY = {
    ("--sheet", "1"): {"xlsx"},
    ("--encoding", "utf-8"): {"csv", "tsv", "jsonl"},
    ("--delimiter", "tab"): {"tsv"},
    ("--delimiter", ","): {"csv"},
    ("--decimal", "."): set(KINDS),
    ("--read-limit", "1GB"): set(KINDS),
}


@pytest.fixture(params=KINDS)
def file(request, tmp_path):
    path = tmp_path / f"d.{request.param}"
    write_table(Table.of({"id": ["a", "b", "c"], "x": [1.5, 2.5, 9.0]}), path)
    return path


@pytest.mark.parametrize("option", MAY)
def test_every_option_is_used_or_refused(run, file, option):
    kind = file.suffix[1:]
    answer = run("fit", file, "-k", 2, "--columns", "x", "-q", *option)
    other = option[0] == "--delimiter" and kind in ("csv", "tsv")  # then its header is one name
    assert answer.code == (0 if kind in MAY[option] else 2), answer.err
    if kind not in MAY[option] and not other:
        assert f"drop {option[0]}" in answer.err
        with pytest.raises(OptionError, match="which has no"):
            read_table(file, **{option[0][2:]: option[1]})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--encoding", "zzz"), "unknown encoding 'zzz'"),
        (("--encoding", "rot13"), "not a text encoding"),
        (("--delimiter", "ab"), "delimiter must be one character"),
        (("--delimiter", ""), "delimiter must be one character"),
        (("--sheet", "3"), "is a CSV file, which has no sheets; drop --sheet"),
        (("--sheet", ""), "which has no sheets"),
        (("--columns", ""), "--columns '': a name is missing"),
        (("--columns", "x_km,,y_km"), "a name is missing"),
        (("--columns", "x_km,"), "a name is missing"),
        (("--columns", " "), "a name is missing"),
        (("--id", ""), "--id '': the value is empty"),
        (("--weight", ""), "--weight '': the value is empty"),
        (("--together", ""), "the value is empty"),
        (("--known", ""), "the value is empty"),
        (("--label-column", ""), "must not be blank"),
        (("--read-limit", "much"), "'much' is not a size such as 500MB or 4GB"),
        (("--read-limit", "-1"), "not a size"),
    ],
)
def test_options_that_say_nothing_or_nonsense(run, customers, options, words):
    answer = run("fit", customers, "-k", 3, *options)
    assert answer.code == 2
    assert words in answer.err


def test_options_over_a_rules_file_that_say_nothing(run, customers, tmp_path):
    (tmp_path / "r.toml").write_text('clusters = 3\nid = "customer"\ncolumns = ["x_km"]\n')
    for option in ("--id", "--columns", "--weight"):
        assert run("fit", customers, "--rules", "r.toml", option, "").code == 2


def test_sheets_that_are_not_there_are_wrong_usage(run, tmp_path):
    write_table(Table.of({"x": [1, 2]}), tmp_path / "d.xlsx")
    for sheet in ("3", "0", "other"):
        answer = run("fit", "d.xlsx", "-k", 1, "--sheet", sheet)
        assert answer.code == 2
        assert "there is no sheet" in answer.err


def test_two_forms_at_once(run, customers):
    fit = ("fit", customers, "-k", 2, "--columns", "x_km", "--n-init", 1)
    assert run(*fit, "--save", "a.bckm").code == 0
    for command in (("show", "a.bckm"), ("compare", "a.bckm", "a.bckm")):
        answer = run(*command, "--json", "--markdown")
        assert answer.code == 2
        assert "cannot both" in answer.err


def test_an_empty_title_is_a_title(run, customers):
    assert run("fit", customers, "-k", 2, "--columns", "x_km", "--title", "").code == 0


def test_names_with_commas_quotes_and_line_breaks(run, tmp_path):
    names = ["a,b", 'c"d', "e\nf", " g"]
    rows = np.arange(12.0).reshape(3, 4)
    write_table(Table.of(dict(zip(names, rows.T.tolist(), strict=True))), tmp_path / "d.jsonl")
    asked = ('"a,b","c""d"', "e\nf", '" g"')
    options = [word for one in asked for word in ("--columns", one)]
    answer = run("fit", "d.jsonl", "-k", 2, *options, "--write-rules", "r.toml")
    assert answer.code == 0, answer.err
    assert run("fit", "d.jsonl", "--rules", "r.toml").code == 0
