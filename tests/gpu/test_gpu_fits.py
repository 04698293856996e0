"""Whole fits on a GPU: against the CPU engine, with arrays of each package, in and out."""

import cupy as cp
import numpy as np
import pytest

import bckm
from bckm.blocks.gpu import holder
from tests.support.device_problems import check_on_device, check_result, device_problem

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("seed", range(200))
def test_as_on_the_host(seed, monkeypatch):
    if seed % 3 == 0:
        monkeypatch.setattr(holder, "CHUNK", 100 + seed * 13)
    problem = device_problem(seed)
    check_on_device(problem, cp.asarray(problem.X))


def torch_array(X):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(X).cuda()


def jax_array(X):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    return jax.numpy.asarray(X)


@pytest.mark.parametrize("there", [cp.asarray, torch_array, jax_array])
def test_answers_are_of_the_same_kind(there):
    problem = device_problem(7 * 5)  # blobs
    X = there(problem.X.astype(np.float32))
    result = bckm.kmeans(X, problem.k, problem.rules, random_state=0)
    assert type(result.labels) is type(X)
    assert str(result.labels.device) == str(X.device)
    at = result.on_device_of(X)
    assert type(at.centers) is type(at.prices) is type(X)
    assert str(at.centers.dtype) == str(X.dtype)
    model = bckm.ConstrainedKMeans(problem.k, size_min=problem.lower, size_max=problem.upper)
    labels = model.fit_predict(X)
    assert type(labels) is type(model.labels_) is type(model.predict(X)) is type(X)
    assert type(model.transform(X)) is type(model.assign(X)) is type(X)
    assigned = bckm.assign_to(X, at.centers, problem.rules)  # centers on the device, too
    assert type(assigned.labels) is type(X)
    assert bckm.verify(result.labels, problem.k, problem.rules) == []
    assert np.isclose(-model.score(X), -model.score(problem.X.astype(np.float32)), rtol=1e-12)


def test_torch_in_other_types():
    torch = pytest.importorskip("torch")
    problem = device_problem(7 * 8)
    for kind in (torch.bfloat16, torch.float16, torch.float64, torch.int32):
        X = torch.from_numpy(problem.X.astype(np.float64)).cuda().to(kind)
        result = bckm.kmeans(X, problem.k, problem.rules, random_state=0, max_iter=3)
        assert type(result.labels) is torch.Tensor
        assert np.array_equal(result.labels.bincount(minlength=problem.k).cpu(), result.sizes)
    X = torch.from_numpy(problem.X).cuda().requires_grad_()
    assert bckm.kmeans(X, problem.k, problem.rules, random_state=0, max_iter=3).labels.is_cuda
    columns = torch.from_numpy(np.ascontiguousarray(problem.X.T)).cuda().T  # not contiguous
    a, b = (
        bckm.kmeans(one, problem.k, problem.rules, random_state=0, max_iter=3)
        for one in (columns, columns.contiguous())
    )
    assert a.inertia == b.inertia
    assert bool((a.labels == b.labels).all())


def test_arrays_of_the_host_stay_there():
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(500, 3))
    assert isinstance(bckm.kmeans(torch.from_numpy(X), 3, random_state=0).labels, np.ndarray)


@pytest.mark.parametrize(("d", "k"), [(1024, 50), (200, 300), (3, 2000)])
def test_wide_and_many(d, k):
    n = max(20_011, 3 * k + 7)
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)).astype(np.float32)
    centers = X[rng.choice(n, k, replace=False)].astype(np.float64)
    rules = bckm.Constraints(size_min=n // k, size_max=-(-n // k))
    result = bckm.assign_to(cp.asarray(X), centers, rules)
    sizes = np.bincount(result.labels.get(), minlength=k)
    assert set(sizes.tolist()) <= {n // k, -(-n // k)}
    assert result.gap <= 1e-9


@pytest.mark.parametrize(("k", "room"), [(20, 0.0), (20, 0.1), (200, 0.1)])
def test_groups_far_apart_and_clusters_that_are_empty_at_first(k, room):
    """Rows that lead to prices, moves within groups, and more of pairs between them."""
    n, rng = 100_003, np.random.default_rng(k)
    group = rng.choice(9, n, p=rng.dirichlet(np.ones(9)))
    X = (30 * rng.normal(size=(9, 6))[group] + rng.normal(size=(n, 6))).astype(np.float32)
    centers = X[rng.choice(n, k, replace=False)].astype(np.float64)
    centers[-2:] = np.add.outer([10.0, 100.0], X.max(axis=0))
    least, most = int(n / k * (1 - room)), int(n / k * (1 + room)) + 1
    rules = bckm.Constraints(size_min=least, size_max=most)
    result = bckm.assign_to(cp.asarray(X), centers, rules)
    sizes = np.bincount(result.labels.get(), minlength=k)
    assert least <= sizes.min() <= sizes.max() <= most
    assert result.gap <= 1e-9
    assert result.assignment_status is bckm.Status.OPTIMAL


@pytest.mark.parametrize("share", [0.3, 0.999])
def test_masses_of_copies(share):
    """Most rows are one: sizes divide its samples among clusters by their numbers."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60_013, 4)).astype(np.float32)
    X[rng.random(len(X)) < share] = X[0]
    rules = bckm.Constraints(size_min=len(X) // 10, size_max=len(X) // 10 + 1)
    result = bckm.kmeans(cp.asarray(X), 10, rules, random_state=0, max_iter=5)
    assert set(np.bincount(result.labels.get()).tolist()) <= {6001, 6002}
    assert result.gap <= 1e-9


def test_the_same_bits_every_time_and_in_any_chunks(monkeypatch):
    problem = device_problem(7 * 11, most=100_000)
    X = cp.asarray(problem.X)
    first = bckm.kmeans(X, problem.k, problem.rules, random_state=0)
    for chunk in (None, 999, 5000):
        if chunk is not None:
            monkeypatch.setattr(holder, "CHUNK", chunk)
        again = bckm.kmeans(X, problem.k, problem.rules, random_state=0)
        assert again.inertia == first.inertia
        assert np.array_equal(again.centers, first.centers)
        assert bool((again.labels == first.labels).all())


def test_nan_is_told_with_its_row():
    X = cp.zeros((1000, 3), np.float32)
    X[678, 2] = cp.nan
    with pytest.raises(ValueError, match="sample 678, feature 2"):
        bckm.kmeans(X, 2)


def test_a_time_limit_is_heard():
    X = cp.random.default_rng(0).standard_normal((2_000_003, 16), dtype=np.float32)
    with pytest.raises(bckm.UndecidedError, match="time limit"):
        bckm.kmeans(X, 50, bckm.Constraints(size_min=30_000), time_limit=1e-3)


def test_of_a_fit_with_a_limit_labels_remain():
    X = cp.random.default_rng(0).standard_normal((1_000_003, 16), dtype=np.float32)
    rules = bckm.Constraints(size_min=20_000, size_max=20_001)
    result = bckm.kmeans(X, 50, rules, time_limit=20, tol=0, max_iter=10_000, random_state=0)
    assert np.isin(cp.bincount(result.labels).get(), [20_000, 20_001]).all()
    assert result.seconds < 40
    check = np.square(X.get().astype(np.float64) - result.centers[result.labels.get()]).sum()
    assert abs(check - result.inertia) <= 1e-9 * check


def test_little_memory_beside_x():
    """At most 24 bytes for each sample and a gigabyte above X; here with a pool of its own."""
    n, pool = 4_000_037, cp.cuda.MemoryPool()
    X = cp.random.default_rng(0).standard_normal((n, 16), dtype=np.float32)
    with cp.cuda.using_allocator(pool.malloc):
        result = bckm.kmeans(X, 64, bckm.Constraints(size_min=n // 64), random_state=0, max_iter=3)
        assert pool.total_bytes() <= 24 * n + 2**30
    assert (result.sizes >= n // 64).all()


def test_results_are_shown_saved_and_checked(tmp_path):
    problem = device_problem(7 * 5)
    result = bckm.kmeans(cp.asarray(problem.X), problem.k, problem.rules, random_state=0)
    assert "samples" in repr(result)
    assert "samples" in result._repr_html_()
    bckm.save(result, tmp_path / "result.bckm")
    again = bckm.load(tmp_path / "result.bckm")
    check_result(problem, again, again.centers)
    assert np.array_equal(again.labels, result.labels.get())
