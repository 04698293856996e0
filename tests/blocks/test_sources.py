"""Arrays and files behind one face: the same rows in blocks, whatever holds them."""

import numpy as np
import pytest

import bckm
from bckm.blocks import sources
from bckm.blocks.sources import ArrayRows, ParquetRows, source_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(name="X")
def data():
    return np.random.default_rng(0).normal(size=(1000, 5)).astype(np.float32)


def rows_of(source, start=0, stop=None):
    parts = list(source.blocks(start, stop))
    offsets = np.cumsum([start, *(len(rows) for _, rows in parts)])
    assert [at for at, _ in parts] == offsets[:-1].tolist()
    assert all(rows.dtype == source.dtype for _, rows in parts)
    return np.concatenate([rows for _, rows in parts]) if parts else np.empty((0, source.shape[1]))


def columns_of(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def lists_of(X, fixed):
    kind = pa.list_(pa.float32(), X.shape[1]) if fixed else pa.list_(pa.float32())
    return pa.table({"id": np.arange(len(X)), "e": pa.array(X.tolist(), kind)})


def in_memory_map(X, folder):
    np.save(folder / "x.npy", X)
    return ArrayRows(np.load(folder / "x.npy", mmap_mode="r"))


def in_zarr(X, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(128, 2), dtype="f4")
    array[:] = X
    return source_of(array)


def in_parquet(X, folder):
    pq.write_table(columns_of(X), folder / "x.parquet", row_group_size=300)
    return source_of(str(folder / "x.parquet"))


def in_folder(X, folder):
    (folder / "parts").mkdir()
    for part, start in ((2, 0), (10, 400), (11, 401)):  # as text, 10 comes before 2
        stop = {2: 400, 10: 401, 11: 1000}[part]
        pq.write_table(columns_of(X[start:stop]), folder / "parts" / f"part.{part}.parquet")
    (folder / "parts" / "_SUCCESS").touch()
    return source_of(folder / "parts")


def in_lists(X, folder):
    pq.write_table(lists_of(X, fixed=False), folder / "x.parquet", row_group_size=300)
    return ParquetRows(folder / "x.parquet", columns=["e"])


def in_fixed_lists(X, folder):
    pq.write_table(lists_of(X, fixed=True), folder / "x.parquet", row_group_size=300)
    return ParquetRows(folder / "x.parquet", columns=["e"])


KINDS = (in_memory_map, in_zarr, in_parquet, in_folder, in_lists, in_fixed_lists)


@pytest.mark.parametrize("kept", KINDS)
def test_the_same_rows_whatever_holds_them(X, tmp_path, kept, monkeypatch):
    monkeypatch.setattr(sources, "NUMBERS", 1300)
    monkeypatch.setattr("bckm.blocks.parquet.NUMBERS", 600)
    source = kept(X, tmp_path)
    assert source.shape == X.shape
    assert source.dtype == np.float32
    assert len(list(source.blocks())) > 3
    for start, stop in ((0, None), (0, 1), (299, 301), (399, 402), (990, 2000), (5, 5)):
        np.testing.assert_array_equal(rows_of(source, start, stop), X[start:stop])


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float16, ">f8", bool])
def test_other_numbers_become_those_that_are_worked_with(kind):
    X = np.arange(6).reshape(3, 2).astype(kind)
    source = ArrayRows(X)
    assert source.dtype == (np.float32 if kind is np.float16 else np.float64)
    np.testing.assert_array_equal(rows_of(source), X.astype(float))


def test_whole_numbers_and_decimals_of_parquet(tmp_path):
    table = pa.table(
        {"a": pa.array([1, None]), "b": pa.array([1.5, 2.5]).cast(pa.decimal128(9, 3))}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    source = source_of(tmp_path / "t.parquet")
    assert source.dtype == np.float64
    np.testing.assert_array_equal(rows_of(source), [[1, 1.5], [np.nan, 2.5]])


def test_what_is_read_in_blocks(monkeypatch):
    assert source_of(np.eye(3)) is None
    assert source_of([[1.0]]) is None
    monkeypatch.setattr(sources, "LARGE", 8)
    assert isinstance(source_of(np.eye(3)), ArrayRows)


def test_refusals_name_the_way_out(tmp_path, X):
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "zarr.json").touch()
    (tmp_path / "none").mkdir()
    pq.write_table(pa.table({"name": ["ann"], "x": [1.0]}), tmp_path / "t.parquet")
    for path, words in (
        (tmp_path / "z", "zarr.open_array"),
        ("x.npy", "numpy.load"),
        ("x.csv", "Parquet file or folder"),
        (tmp_path / "no.parquet", "does not exist"),
        (tmp_path / "none", "no Parquet files"),
        (tmp_path / "t.parquet", r"'name'.*holds string.*ParquetRows"),
    ):
        with pytest.raises(ValueError, match=words):
            source_of(path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(bckm.tables.TableError, match="damaged"):
        source_of(tmp_path / "bad.parquet")
    with pytest.raises(bckm.tables.UnknownColumnError):
        ParquetRows(tmp_path / "t.parquet", columns=["y"])
    with pytest.raises(ValueError, match="two dimensions"):
        ArrayRows(np.zeros(3))
    with pytest.raises(ValueError, match="numeric"):
        ArrayRows(np.array([["a"]]))


def test_lists_of_other_lengths_are_told_with_their_row(tmp_path):
    lists = pa.array([[1.0, 2.0], [1.0], [3.0, 4.0]])
    pq.write_table(pa.table({"e": lists}), tmp_path / "t.parquet")
    with pytest.raises(bckm.tables.TableError, match="1 numbers in row 1 "):
        list(source_of(tmp_path / "t.parquet").blocks())


def test_files_of_a_folder_must_be_alike(tmp_path):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    assert source_of(tmp_path).shape == (2, 1)
    pq.write_table(pa.table({"x": [[1.0, 2.0]]}), tmp_path / "b.parquet")
    with pytest.raises(bckm.tables.TableError, match="same form"):
        source_of(tmp_path)
