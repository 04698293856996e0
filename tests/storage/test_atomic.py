"""A file is there whole or not at all."""

import os
import stat
import time

import pytest

from bckm._storage import atomic as _atomic
from bckm._storage.atomic import atomic


def names(folder):
    return sorted(os.listdir(folder))


def test_new_file_and_replacement(tmp_path):
    path = tmp_path / "a.txt"
    with atomic(path, "w") as file:
        file.write("über\r\nzwei\n")
        assert names(tmp_path) != ["a.txt"]
    assert path.read_bytes() == "über\r\nzwei\n".encode()
    with atomic(path, "wb") as file:
        file.write(b"\x00")
        assert path.read_bytes() == "über\r\nzwei\n".encode()  # the old one, until the end
    assert path.read_bytes() == b"\x00"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_exception_the_old_file_stays(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")

    def fail():
        with atomic(path, "w") as file:
            file.write("new")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_atomic.os, "fsync", full)

    def write():
        with atomic(path, "w") as file:
            file.write("new")

    with pytest.raises(OSError, match="No space left"):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_handle_that_its_user_closed(tmp_path):
    with atomic(tmp_path / "a", "wb") as file:
        file.write(b"all")
        file.close()
    assert (tmp_path / "a").read_bytes() == b"all"


def test_permissions_are_those_of_an_ordinary_file_or_of_the_old_one(tmp_path):
    path, plain = tmp_path / "a", tmp_path / "plain"
    plain.write_text("")
    with atomic(path, "w") as file:
        file.write("x")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    with atomic(path, "w") as file:
        (other,) = [name for name in names(tmp_path) if name.endswith(".tmp")]
        # never readable for more people than the old one
        assert stat.S_IMODE((tmp_path / other).stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a", tmp_path / "link"
    link.symlink_to(target)
    for text in ("first", "second"):  # at first the link leads nowhere
        with atomic(link, "w") as file:
            file.write(text)
        assert link.is_symlink()
        assert target.read_text() == text


def test_what_is_no_file_is_written_to(tmp_path):
    with atomic(os.devnull, "w") as file:
        file.write("x")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)
    read, write = os.pipe()
    with atomic(f"/dev/fd/{write}", "w") as file:
        file.write("through")
    os.close(write)
    with open(read) as file:
        assert file.read() == "through"


def test_errors_name_the_path_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .*absent does not exist.*absent/a"):
        atomic(tmp_path / "absent" / "a").__enter__()
    with pytest.raises(IsADirectoryError):
        atomic(tmp_path).__enter__()
    with pytest.raises(ValueError, match="mode must be"):
        atomic(tmp_path / "a", "a").__enter__()
    assert names(tmp_path) == []


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    monkeypatch.setattr(_atomic.os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(PermissionError, match="write-protected"):
        atomic(path).__enter__()
    assert path.read_text() == "old"


def test_a_system_that_syncs_nothing(tmp_path, monkeypatch):
    def refuse(fd):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(_atomic.os, "fsync", refuse)
    with atomic(tmp_path / "a", "w") as file:
        file.write("x")
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.parametrize("name", ["ü" * 127, "x" * 255, "-", " ", "a*[b]?"])
def test_strange_and_long_names(tmp_path, name):
    path = tmp_path / name
    with atomic(path, "w") as file:
        file.write("x")
    assert names(tmp_path) == [name]


def test_what_killed_writers_left_is_swept_later(tmp_path):
    path = tmp_path / "a.b"
    ago = time.time() - 2 * _atomic.STALE
    old = [".a.b.0123456789abcdef.tmp"]
    kept = [
        ".a.b.0123456789abcdeg.tmp",  # not ours
        ".a.b.0123456789abcdef.tmp2",
        ".aXb.0123456789abcdef.tmp",
        "a.b.0123456789abcdef.tmp",
        ".a.b.c.0123456789abcdef.tmp",  # of another file
    ]
    for name in old + kept:
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (ago, ago))
    young = ".a.b.fedcba9876543210.tmp"  # perhaps its writer is at work
    (tmp_path / young).write_text("")
    with atomic(path) as file:
        file.write(b"")
    assert names(tmp_path) == sorted([*kept, young, "a.b"])
