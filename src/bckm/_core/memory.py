"""How much memory there is, before it is taken: a clear error instead of a killed process."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEGLIGIBLE = 2**26  # not worth a look at the system


def require(needed: int, what: str, remedy: str) -> None:
    """Raise MemoryError, with numbers and a remedy, where more is needed than is available.

    `what` says what the bytes are for, `remedy`, a sentence, what a person can do.
    """
    if needed < NEGLIGIBLE:
        return
    free = available()
    if free is not None and needed > free:
        raise MemoryError(
            f"needs about {gigabytes(needed)} for {what}; {gigabytes(free)} are available. {remedy}"
        )


def gigabytes(number: float) -> str:
    """Bytes in words: '1.5 GB', '20 MB'.

    Examples
    --------
    >>> from bckm._core.memory import gigabytes
    >>> gigabytes(1.5e9), gigabytes(20_400_000), gigabytes(10)
    ('1.5 GB', '20 MB', '1 MB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{max(number / 1e6, 1):.0f} MB"


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for cycles of objects: it takes half of the time where there are none."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def available() -> int | None:
    """Bytes that can be taken without swapping, as the system and its containers say.

    None where nothing is known.
    """
    known = [_free_of_system(), _free_of_process(), *map(_free_of_group, _groups())]
    return min((free for free in known if free is not None), default=None)


def _free_of_system() -> int | None:
    free = _field(Path("/proc/meminfo"), "MemAvailable:")
    if free is not None:
        return free * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _free_of_process() -> int | None:
    """What a limit of the process (ulimit -v) leaves."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _text(Path("/proc/self/statm")).split()
    if most == resource.RLIM_INFINITY or not pages:
        return None
    return max(0, most - int(pages[0]) * resource.getpagesize())


def _groups() -> list[Path]:
    """Control groups that limit this process, as folders: versions 2 and 1, with all parents."""
    folders: list[Path] = []
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root = Path("/sys/fs/cgroup")
        elif "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
        else:
            continue
        inner = root / path.strip("/")
        folders += [inner, *(parent for parent in inner.parents if parent.is_relative_to(root))]
    return folders


def _free_of_group(folder: Path) -> int | None:
    """What a control group leaves; cached files give way when memory is asked for."""
    for limit, usage, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, used = _text(folder / limit).strip(), _text(folder / usage).strip()
        if most.isdigit() and used.isdigit():
            spare = _field(folder / "memory.stat", cached) or 0
            return max(0, int(most) - int(used) + spare)
    return None


def _field(path: Path, name: str) -> int | None:
    """The whole number after a name, in a file of lines 'name number'."""
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
