"""A fit in a process of its own, whose memory is measured or limited.

``python -m tests.support.limited_fit KIND PATH N_CLUSTERS [OPTION=VALUE ...]`` prints JSON: sizes,
status, and the peak of anonymous memory above that before the fit, in bytes. Pages of mapped files
are no part of it: the system takes them back when it needs them. Options: `limit`, bytes of address
space (for `data`: of private memory, since mapped files count as address space); `sample`, rows of
the sample; `max_iter`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 2**17  # rows that are drawn at a time


def draw(path: Path, n: int, d: int) -> None:
    """Write rows around 40 points, of very unequal shares, as the suffix of a path says."""
    rng = np.random.default_rng(0)
    share, middle = rng.dirichlet(np.ones(40)), 2 * rng.normal(size=(40, d)).astype(np.float32)
    put, close = _writer(path, n, d)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        put(start, rng.standard_normal((m, d), np.float32) + middle[rng.choice(40, m, p=share)])
    close()


def _writer(path: Path, n: int, d: int) -> Any:
    if path.suffix == ".parquet":
        import pyarrow as arrow
        from pyarrow import parquet

        schema = arrow.schema([(f"x{j}", arrow.float32()) for j in range(d)])
        writer = parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none")

        def put(start: int, rows: np.ndarray) -> None:
            columns = [np.ascontiguousarray(column) for column in rows.T]
            writer.write_table(arrow.table(columns, schema=schema))

        return put, writer.close
    if path.suffix == ".zarr":
        import zarr

        chunks = (BLOCK // 4, d)
        kept = zarr.create_array(path, shape=(n, d), chunks=chunks, dtype="f4", compressors=None)
    else:
        kept = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))

    def put_slice(start: int, rows: np.ndarray) -> None:
        kept[start : start + len(rows)] = rows

    return put_slice, getattr(kept, "flush", lambda: None)


def run(path: Path, n_clusters: int, **options: int) -> dict[str, Any]:
    """Fit in a process of its own."""
    given = [f"{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", __name__, path, str(n_clusters), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Peak(threading.Thread):
    """Watches the anonymous memory of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.first = self.most = self.now()
        self._done = threading.Event()

    @staticmethod
    def now() -> int:
        """Bytes."""
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
        raise OSError("the system does not tell")

    def run(self) -> None:
        """Look every hundredth of a second."""
        while not self._done.wait(0.01):
            self.most = max(self.most, self.now())

    def end(self) -> int:
        """Bytes above the first look."""
        self._done.set()
        return max(self.most, self.now()) - self.first


def _opened(path: Path) -> Any:
    import bckm

    if path.suffix == ".zarr":
        import zarr

        return zarr.open_array(path, mode="r")
    return bckm.ArrayRows(np.load(path, mmap_mode="r")) if path.suffix == ".npy" else path


def main(path: Path, n_clusters: int, options: dict[str, int]) -> None:
    """Fit and print."""
    import bckm
    from bckm.fit.in_blocks import _surveyed

    _surveyed.SAMPLE = options.get("sample", _surveyed.SAMPLE)
    X = _opened(path)
    bckm.kmeans(np.eye(4), 2, random_state=0)  # what is imported is no part of it
    if "limit" in options:
        resource.setrlimit(resource.RLIMIT_AS, 2 * (options["limit"],))
    if "data" in options:
        resource.setrlimit(resource.RLIMIT_DATA, 2 * (options["data"],))
    peak = Peak()
    peak.start()
    n = X.shape[0] if hasattr(X, "shape") else bckm.ParquetRows(X).shape[0]
    low, high = n // n_clusters, -(-n // n_clusters)
    result = bckm.kmeans(
        X,
        n_clusters,
        bckm.Constraints(size_min=low, size_max=high),
        random_state=0,
        search="none",
        max_iter=options.get("max_iter", 2),
    )
    above = peak.end()
    counted = np.zeros(n_clusters, np.int64)
    parts = (
        [(0, result.labels)] if isinstance(result.labels, np.ndarray) else result.labels.blocks()
    )
    for _, labels in parts:
        counted += np.bincount(labels, minlength=n_clusters)
    found = {"sizes": counted.tolist(), "peak": above, "passes": result.counters["passes"]}
    found |= {"gap": result.gap, "n": n, "seconds": result.seconds, "status": result.status}
    print(json.dumps(found))


if __name__ == "__main__":
    pairs = (one.split("=") for one in sys.argv[3:])
    main(Path(sys.argv[1]), int(sys.argv[2]), {name: int(value) for name, value in pairs})
