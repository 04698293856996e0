"""Files that grow when they are read: limits that are told, and an option to raise them."""

import gzip
import io
import json
import resource
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from bckm._core import memory as _memory
from bckm.tables import TableError, read_table
from bckm.tables import _limits as limits
from tests.support.waiting import SECONDS

MB = 10**6
TOLD = r"holds .* or more after unpacking, but the limit is 1 MB; .*--read-limit"
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
xlsxwriter = pytest.importorskip("xlsxwriter")


def zipped(parts, **claims):
    """A packed zip file; a claim is a lie about the size of a member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    data = bytearray(out.getvalue())
    for name, claim in claims.items():
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = next(i.file_size for i in archive.infolist() if name in i.filename)
        data = data.replace(size.to_bytes(4, "little"), claim.to_bytes(4, "little"))
    return bytes(data)


def workbook(cells):
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    sheets = {}
    for (title, row, column), value in cells.items():
        sheet = sheets.get(title) or sheets.setdefault(title, book.add_worksheet(title))
        sheet.write(row, column, value)
    book.close()
    return out.getvalue()


FAR = {("a", 0, 0): "x", ("a", 1, 0): 1.0, ("a", 1_048_575, 16_383): 2.0}


def with_sheet(xml):
    """A workbook whose sheet is written by hand."""
    with zipfile.ZipFile(io.BytesIO(workbook({("a", 0, 0): "x"}))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = (
        '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/'
        f'2006/main"><sheetData>{xml}</sheetData></worksheet>'
    ).encode()
    return zipped(parts)


def parquet_of(columns, **options):
    out = io.BytesIO()
    parquet.write_table(arrow.table(columns), out, compression="gzip", **options)
    return out.getvalue()


def npy(shape, data=b"", dtype="<f8"):
    out = io.BytesIO()
    about = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue() + data


MANY = b"a,b\n" + b"0,0\n" * MB


def bombs():
    """How each file ends, how it is made, and what is said of it."""
    yield "csv.gz", lambda: gzip.compress(MANY), TOLD
    yield "csv.gz", lambda: gzip.compress(MANY[: 2 * MB]) + gzip.compress(MANY[4:]), TOLD
    yield "csv", lambda: MANY, TOLD
    yield "jsonl.gz", lambda: gzip.compress(b'{"a": 1}\n' * MB), TOLD
    rows = [json.dumps({f"key {i}": 1}) for i in range(600)]
    yield "jsonl", lambda: "\n".join(rows).encode(), TOLD
    yield "xlsx", lambda: workbook(FAR), TOLD
    yield "xlsx", lambda: with_sheet('<row r="1048576">' + "<c><v>1</v></c>" * 100 + "</row>"), TOLD
    yield (
        "xlsx",
        lambda: with_sheet('<row r="1"><c r="A1048576"/><c t="n" r="ZZ1"><v>1</v></c></row>'),
        TOLD,
    )
    yield "xlsx", lambda: zipped({"xl/worksheets/sheet1.xml": b" " * 5 * MB}), TOLD
    yield (
        "xlsx",
        lambda: zipped({"xl/worksheets/sheet1.xml": b" " * 5 * MB}, sheet1=9),
        "the declared 9",
    )
    yield "ods", lambda: zipped({"content.xml": b" " * 5 * MB}), TOLD
    yield "npz", lambda: zipped({"X.npy": npy((10**6, 1), bytes(8 * MB))}), TOLD
    yield "npz", lambda: zipped({"X.npy": npy((10**6, 1), bytes(8 * MB))}, X=9), "the declared 9"
    yield "npz", lambda: zipped({"X.npy": npy((10**12, 2))}), r"shape \(1000000000000, 2\)"
    yield "npz", lambda: zipped({"X.npy": npy((10**15, 2), dtype="|S0")}), r"is damaged"
    header = npy((3, 2)).replace(b"'shape'", b"'sha(e'").replace(b"'descr'", b"'des'cr")
    yield "npz", lambda: zipped({"X.npy": header}), r"its header cannot be read"
    yield "parquet", lambda: parquet_of({"a": np.zeros(10**6)}), TOLD
    yield "parquet", lambda: parquet_of({"a": arrow.nulls(10**7, arrow.int8())}), TOLD
    yield "parquet", lambda: parquet_of({"a": ["x" * 10**5] * 1000}), TOLD
    yield "parquet", lambda: parquet_of({"a": [["x" * 10**5]] * 1000}), TOLD


BOMBS = list(bombs())


@pytest.mark.parametrize(
    ("suffix", "make", "words"), BOMBS, ids=[f"{i}-{one[0]}" for i, one in enumerate(BOMBS)]
)
def test_files_that_grow_are_refused(suffix, make, words, tmp_path):
    path = tmp_path / f"d.{suffix}"
    path.write_bytes(make())
    began = time.process_time()
    with pytest.raises(TableError, match=words):
        read_table(path, read_limit=MB)
    assert time.process_time() - began < 2.0


def test_the_limit_can_be_raised(tmp_path):
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 10**5))
    with pytest.raises(TableError, match="the limit is 1 MB"):
        read_table(path, read_limit=10**5)
    assert read_table(path, read_limit=MB).n_rows == 10**5
    assert limits.LIMIT == 10**9


def test_far_cells_of_other_sheets_do_not_matter():
    cells = {("fine & dandy", 0, 0): "x", ("fine & dandy", 1, 0): 1.0, **FAR}
    data = io.BytesIO(workbook(cells))
    assert read_table("-", stdin=data, read_limit=MB).n_rows == 1


def test_nothing_changes_for_ordinary_files(tmp_path):
    """Texts that repeat, nested columns and categories come back as they were."""
    columns = {
        "a": ["x" * 50, None, "y"] * 1000,
        "b": [[1, 2], None, []] * 1000,
        "c": arrow.array(["u", "v", None] * 1000).dictionary_encode(),
        "d": [b"1", b"2", None] * 1000,
        "e": [1.5, None, 2.5] * 1000,
    }
    path = tmp_path / "d.parquet"
    path.write_bytes(parquet_of(columns, row_group_size=700))
    found = read_table(path, read_limit=MB)
    assert found.origin.equals(parquet.read_table(path))
    assert found.cells("a")[:3] == ["x" * 50, None, "y"]


def test_a_pipe_without_an_end(tmp_path):
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = b"0\n" * (len(buffer) // 2)
            return len(buffer)

    with pytest.raises(TableError, match="standard input holds"):
        read_table("-", stdin=Endless(), read_limit=MB)
    with pytest.raises(TableError, match="zero holds"):
        read_table("/dev/zero", read_limit=MB)


def test_memory_is_asked_for_before_cells_are_made(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 100 * MB)
    data = b"a,b\n" + b"10,20\n" * 10**6
    with pytest.raises(MemoryError, match=r"about 3\d\d MB for the cells of .*; 100 MB are avail"):
        read_table("-", stdin=io.BytesIO(data))


def test_many_columns_are_no_trouble(tmp_path):
    from bckm.plan import Plan, compile_plan

    names = ",".join(f"c{i}" for i in range(20_000))
    data = f"{names},t\n" + (",".join(["1"] * 20_000) + ",x\n") * 2
    table = read_table("-", stdin=io.BytesIO(data.encode()))
    began = time.process_time()
    compile_plan(Plan(clusters=1), table)
    compile_plan(Plan(clusters=1, columns=table.names[:-1]), table)
    with pytest.raises(TableError, match="and 19989 more"):
        table.numbers("absent")
    assert time.process_time() - began < 3.0


COMMAND = "from bckm.cli import main; main()"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("gigabytes", [1.0, 1.2])
def test_the_command_line_says_what_there_is_and_what_to_do(tmp_path, gigabytes):
    """Memory that ends anywhere ends with a sentence."""
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"12,34\n" * (10 * MB)))

    def little():
        most = int(gigabytes * 10**9)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "fit", "d.csv.gz", "-k", "2", "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=little,
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin"},
        timeout=SECONDS,
    )
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    assert "not enough memory: needs about" in done.stderr
    assert "are available. Use fewer rows" in done.stderr


def test_an_error_without_words_gets_some(monkeypatch, capsys):
    from bckm.cli._errors import Failure, no_memory, told

    monkeypatch.setattr(_memory, "available", lambda: 5 * 10**8)
    words = "not enough memory (500 MB available). Use fewer rows"
    assert no_memory(MemoryError()).startswith(words)
    with pytest.raises(Failure) as caught, told():
        raise MemoryError
    assert str(caught.value).startswith(words)


def test_a_list_of_members_that_lost_one_is_noticed(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.arange(3), b=np.arange(3))
    data = bytearray(path.read_bytes())
    entries = [at for at in range(len(data)) if data[at : at + 4] == b"PK\x01\x02"]
    length = entries[1] - entries[0]
    data[entries[0] + 32] = length  # the second entry as a comment of the first
    path.write_bytes(data)
    with pytest.raises(TableError, match="lists 1 members, but declares 2"):
        read_table(path)
