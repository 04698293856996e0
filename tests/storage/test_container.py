"""A file is what was written, or is refused with one clear sentence."""

import hashlib
import io
import json
import math
import pickle
import zipfile

import numpy as np
import pytest

from bckm import DamagedFileError
from bckm._storage import container as _container
from bckm._storage.container import read_container, write_container

TREE = {
    "values": np.linspace(0, 1, 50).reshape(5, 10),
    "whole": np.arange(40, dtype=np.int16),
    "truth": np.arange(30) % 3 == 0,
    "single": np.array(np.inf),
    "none": np.zeros((0, 3)),
    "nested": [{"a": None, "b": [True, 1, 2.5, "x"]}, []],
    "beyond": [math.inf, -math.inf, -0.0],
    "$array": {"$float": "not a number, a text"},
    "halves": "\ud800 \x00 ü",
}


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "a.bckm"
    write_container(found, "thing", TREE)
    return found


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forge(path, members, *, right_sum=True, **how):
    """Write a zip by hand, with a checksum that fits."""
    members = {name: data for name, data in members.items() if name != "sha256.txt"}
    if right_sum:
        total = hashlib.sha256()
        for name, data in members.items():
            total.update(f"{name} {len(data)}\n".encode() + data)
        members["sha256.txt"] = total.hexdigest().encode()
    with zipfile.ZipFile(path, "w", **how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def with_header(path, change):
    members = members_of(path)
    header = json.loads(members["header.json"])
    change(header)
    forge(path, members | {"header.json": json.dumps(header).encode()})


def refused(path, match, kinds=("thing",)):
    with pytest.raises(DamagedFileError, match=match) as caught:
        read_container(path, kinds)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_written_is_read(path):
    found = read_container(path, ["thing"])
    assert found.kind == "thing"
    assert found.version == _container.VERSION
    assert same(found.content, TREE)
    assert math.isnan(_round(path, math.nan))
    assert found.content["values"].flags.writeable


def _round(path, value):
    write_container(path, "thing", value)
    return read_container(path, ["thing"]).content


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u8", "i1", "u1", "b1", ">f8", ">i4"])
@pytest.mark.parametrize("size", [3, 100])
def test_arrays_of_all_kinds(path, dtype, size):
    array = (np.arange(size) % 2).astype(dtype)
    found = _round(path, array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(found, array)
    strange = np.asfortranarray(np.arange(60.0).reshape(6, 10))[::2, ::3]
    assert np.array_equal(_round(path, strange), strange)


def test_the_same_content_is_the_same_bytes(path, tmp_path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_container(tmp_path / "b", "thing", TREE)
    assert (tmp_path / "b").read_bytes() == before


def test_numpy_reads_the_arrays_too(path):
    with np.load(path, allow_pickle=False) as found:
        assert np.array_equal(found["values"], TREE["values"])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1: 2}, "the key 1; keys must be text"),
        ({"a": {"b": object()}}, "a.b is a object"),
        ({"a": [1j]}, "a.0 is a complex"),
        ({"a": np.array(["x"])}, "a is an array of <U1"),
        ({"a": np.array([None])}, "a is an array of object"),
        ({"a": np.zeros(2, complex)}, "a is an array of complex128"),
        ({"a": b"x"}, "a is a bytes"),
        ({"a": {1, 2}}, "a is a set"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_and_nothing_is_written(path, value, words):
    before = path.read_bytes()
    with pytest.raises(TypeError, match=words):
        write_container(path, "thing", value)
    assert path.read_bytes() == before


def test_files_of_others(tmp_path):
    path = tmp_path / "x"
    for data, words in [
        (b"", "is empty"),
        (pickle.dumps([1]), "is a pickle, which bckm does not open"),
        (b"a,b\n1,2\n", "was not written by bckm"),
        (b"PK\x03\x04", "is damaged"),
        (b"PK", "was not written by bckm"),
    ]:
        path.write_bytes(data)
        refused(path, words)
    np.savez(tmp_path / "y.npz", a=np.arange(3))
    refused(tmp_path / "y.npz", "a zip file not written by bckm")
    refused(tmp_path, "is a folder")
    with pytest.raises(FileNotFoundError):
        read_container(tmp_path / "absent", ["thing"])


def test_a_newer_version_says_upgrade(path):
    with_header(path, lambda header: header.update(version=7, content={"$new": 1}))
    refused(path, r"newer bckm \(format 7; this one reads up to 3\): upgrade bckm")


def test_another_kind_is_named(path):
    with pytest.raises(ValueError, match="holds a thing, not a result or a study"):
        read_container(path, ["result", "study"])


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(format="other"),
        lambda h: h.update(version=0),
        lambda h: h.update(version=True),
        lambda h: h.update(version="1"),
        lambda h: h.pop("version"),
        lambda h: h.pop("content"),
        lambda h: h.pop("kind"),
        lambda h: h["content"].update(values={"$array": "absent"}),
        lambda h: h["content"].update(values={"$array": ["values"]}),
        lambda h: h["content"].update(values={"$small": ["O", [1], [1]]}),
        lambda h: h["content"].update(values={"$small": ["<f8", [2], [1]]}),
        lambda h: h["content"].update(values={"$small": ["<f8", [10**30], [1]]}),
        lambda h: h["content"].update(values={"$small": ["<i1", [1], [1000]]}),
        lambda h: h["content"].update(values={"$small": 5}),
        lambda h: h["content"].update(values={"$float": "1"}),
        lambda h: h["content"].update(values={"$unknown": "1"}),
        lambda h: h["content"].update(values={"$float": "inf", "b": 1}),
        lambda h: h["content"].update(values=math.nan),
        lambda h: h["content"].update(values=math.inf),
    ],
)
def test_headers_that_nobody_wrote(path, change):
    with_header(path, change)
    refused(path, "is damaged")


def test_members_that_nobody_wrote(path):
    members = members_of(path)
    for name in members:
        forge(path, {key: data for key, data in members.items() if key != name}, right_sum=False)
        refused(path, "is damaged|not written")
    forge(path, members | {"header.json": b"[" * 10**6})
    refused(path, "is damaged")
    forge(path, members | {"header.json": b"\xff"})
    refused(path, "is damaged")
    for array in [np.array([{}], object), np.zeros(50, "M8[s]"), np.asfortranarray(np.eye(9))]:
        buffer = io.BytesIO()
        np.save(buffer, array)
        forge(path, members | {"values.npy": buffer.getvalue()})
        refused(path, "is damaged")
    data = members["values.npy"].replace(b"(5, 10)", b"(9**9,)")
    forge(path, members | {"values.npy": data})
    refused(path, "is damaged")
    for shape in (b"(5, 11)", b"(50, )", b"(-5,10)", b"(5, -1)"):
        if shape == b"(50, )":
            continue  # the same bytes in another shape: consistent in itself
        forge(path, members | {"values.npy": members["values.npy"].replace(b"(5, 10)", shape)})
        refused(path, "is damaged")


def test_a_changed_array_is_noticed_though_the_zip_is_whole(path):
    members = members_of(path)
    data = bytearray(members["values.npy"])
    data[-1] ^= 1
    wrong = {name: bytes(data) if name == "values.npy" else one for name, one in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, one in wrong.items():
            archive.writestr(name, one)
    refused(path, "does not match its checksum")


def test_two_members_of_one_name(path):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("values.npy", b"")
    refused(path, "two members of the same name")


def test_a_bomb_is_not_unpacked(path):
    members = members_of(path)
    forge(path, members | {"values.npy": bytes(10**8)}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**6
    refused(path, "repacked")
    # a member that claims to be larger than the file
    forge(path, members)
    data = path.read_bytes()
    size = len(members["values.npy"]).to_bytes(4, "little") * 2
    path.write_bytes(data.replace(size, (2**31).to_bytes(4, "little") * 2))
    refused(path, "repacked")


def test_every_damage_is_noticed(path):
    """Any byte changed, any length: the same content or a refusal."""
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in range(0, len(data), 13):
        broken = bytearray(data)
        broken[at] ^= int(rng.integers(1, 256))
        _same_or_refused(path, bytes(broken))
        _same_or_refused(path, data[:at])
    _same_or_refused(path, data + b"\x00")
    _same_or_refused(path, b"\x00" + data)
    _same_or_refused(path, data + data)


def _same_or_refused(path, data):
    path.write_bytes(data)
    try:
        found = read_container(path, ["thing"])
    except DamagedFileError:
        return
    assert same(found.content, TREE)


def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_container, "_store", full)
    with pytest.raises(OSError, match="No space"):
        write_container(path, "thing", {})
    assert path.read_bytes() == before


@pytest.mark.parametrize("where", ["_members_of", "_rich"])
def test_too_little_memory_is_no_damage(path, where, monkeypatch):
    write_container(path, "thing", {"a": np.arange(100)})

    def full(*_):
        raise MemoryError("Unable to allocate 1 GiB")

    monkeypatch.setattr(_container, where, full)
    with pytest.raises(MemoryError, match="allocate"):
        read_container(path, ["thing"])
