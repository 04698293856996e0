"""Data in blocks take little memory above the data, and less than the data have."""

import sys

import pytest

from bckm.kernels import missing
from tests.support.limited_fit import draw, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its memory")
MIB = 2**20


def exact(found, k):
    n = found["n"]
    assert sum(found["sizes"]) == n
    assert set(found["sizes"]) <= {n // k, -(-n // k)}
    assert found["gap"] < 1e-9


@pytest.mark.skipif(bool(missing), reason="without the kernels HiGHS settles, which takes more")
def test_memory_above_the_data(tmp_path):
    draw(tmp_path / "x.npy", 400_000, 32)  # 98 MiB in float64
    found = run(tmp_path / "x.npy", 5, sample=2**12, max_iter=1)
    exact(found, 5)
    assert found["peak"] <= 40 * 400_000 + 40 * MIB


@pytest.mark.slow
@pytest.mark.skipif(bool(missing), reason="takes too long without the kernels")
def test_memory_above_five_million_rows(tmp_path):
    draw(tmp_path / "x.npy", 5_000_000, 64)
    found = run(tmp_path / "x.npy", 100)
    exact(found, 100)
    assert found["peak"] <= 40 * 5_000_000 + 200 * MIB


@pytest.mark.slow
@pytest.mark.skipif(bool(missing), reason="takes too long without the kernels")
@pytest.mark.parametrize("suffix", ["npy", "parquet", "zarr"])
def test_four_gibibytes_under_a_limit_of_one(tmp_path, suffix):
    pytest.importorskip({"npy": "numpy", "parquet": "pyarrow", "zarr": "zarr"}[suffix])
    path = tmp_path / f"x.{suffix}"
    draw(path, 17_000_000, 64)
    # a mapped file is address space, whether or not it is in memory: there, what is written to
    limit = {"data" if suffix == "npy" else "limit": 2**30}
    found = run(path, 10, max_iter=1, **limit)
    exact(found, 10)
