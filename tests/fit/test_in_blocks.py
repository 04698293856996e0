"""Data that are read in blocks: the same call, the same answer, whoever holds them."""

import os
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest

import bckm
from bckm import ArrayRows, Constraints, kmeans
from bckm._storage.container import read_container
from bckm.blocks import sources
from bckm.blocks.labels import Labels
from bckm.blocks.step import Memory
from bckm.fit import checkpoint
from bckm.fit.in_blocks import _surveyed
from bckm.fit.in_blocks._loop import State
from bckm.fit.result import Step

N, K, D = 1200, 6, 3
EXACT = Constraints(size_min=N // K, size_max=N // K)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A sample that is smaller than the data."""
    monkeypatch.setattr(_surveyed, "SAMPLE", 300)
    monkeypatch.setattr(_surveyed, "EACH", 10)
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)


@pytest.fixture(name="X", scope="module")
def blobs():
    rng = np.random.default_rng(0)
    middle = rng.normal(scale=3, size=(4, D))
    return (rng.normal(size=(N, D)) + middle[rng.integers(0, 4, N)]).astype(np.float32)


def first(X):
    """Bad centers: a fit from them takes many steps."""
    return X[:K].astype(float)


def same(one, other):
    for name in ("centers", "prices", "sizes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(np.asarray(one.labels), np.asarray(other.labels))
    assert (one.inertia, one.lower_bound, one.status) == (
        other.inertia,
        other.lower_bound,
        other.status,
    )
    assert one.counters == other.counters
    told = [[replace(step, seconds=0) for step in each.history] for each in (one, other)]
    assert told[0] == told[1]


def check(result, X, lower, upper, centers=None):
    """All that a result says, from the data alone."""
    labels, x = np.asarray(result.labels), np.asarray(X, float)
    sizes = np.bincount(labels, minlength=len(result.centers))
    np.testing.assert_array_equal(sizes, result.sizes)
    assert (sizes >= lower).all()
    assert (sizes <= upper).all()
    cost = np.square(x[:, None] - result.centers).sum(axis=2)
    paid = cost[np.arange(len(x)), labels].sum()
    assert result.inertia == pytest.approx(paid, rel=1e-12)
    prices = result.prices
    dual = (cost - prices).min(axis=1).sum()
    dual += np.maximum(prices, 0) @ np.broadcast_to(lower, sizes.shape)
    dual -= np.maximum(-prices, 0) @ np.broadcast_to(upper, sizes.shape)
    assert dual == pytest.approx(paid, rel=1e-9)
    assert result.lower_bound <= paid * (1 + 1e-12)
    assert result.gap < 1e-9
    assert result.assignment_status == "optimal"


def test_sizes_are_exact_and_the_assignment_is_proven(X):
    steps = []
    result = kmeans(ArrayRows(X), K, EXACT, init=first(X), tol=0, on_step=steps.append)
    check(result, X, N // K, N // K)
    assert result.status == "converged"
    assert len(steps) == result.n_iter > 3
    assert tuple(steps) == result.history
    objectives = [step.objective for step in steps]
    assert objectives == sorted(objectives, reverse=True)
    assert all(step.objective <= step.assigned for step in steps)
    assert all(step.lower_bound <= step.assigned * (1 + 1e-12) for step in steps)
    again = bckm.assign_to(X, result.centers, EXACT)
    assert again.inertia == pytest.approx(result.inertia, rel=1e-9)
    for label in range(K):  # nothing changes any more: centers are the means
        np.testing.assert_allclose(result.centers[label], X[result.labels == label].mean(0), 1e-5)


@pytest.mark.parametrize(
    ("rules", "lower", "upper"),
    [
        (None, 1, N),
        (Constraints(size_min=0), 0, N),
        (Constraints(size_max=210), 1, 210),
        (Constraints(size_min=0.1, size_max=0.25), 120, 300),
        (Constraints(size_min=[0, 10, 20, 100, 400, 50], size_max=500), None, 500),
    ],
)
def test_other_bounds(X, rules, lower, upper):
    result = kmeans(ArrayRows(X), K, rules, random_state=0, max_iter=3)
    check(result, X, rules.size_min if lower is None else lower, upper)
    in_memory = kmeans(X, K, rules, random_state=0, search="none")
    assert result.inertia < 1.3 * in_memory.inertia


def holders(X, folder):
    yield ArrayRows(X, rows=100)
    yield ArrayRows(np.asfortranarray(X), rows=77)
    np.save(folder / "x.npy", X)
    yield ArrayRows(np.load(folder / "x.npy", mmap_mode="r"))
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({f"x{j}": X[:, j] for j in range(D)})
    pq.write_table(table, folder / "x.parquet", row_group_size=500)
    yield folder / "x.parquet"
    (folder / "parts").mkdir()
    pq.write_table(table[:700], folder / "parts" / "0.parquet")
    pq.write_table(table[700:], folder / "parts" / "1.parquet", row_group_size=130)
    yield str(folder / "parts")
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(101, 2), dtype="f4")
    array[:] = X
    yield array


def test_the_same_bits_whoever_holds_the_data(X, tmp_path):
    asked = {"random_state": 0, "max_iter": 4, "tol": 0}
    whole = kmeans(ArrayRows(X), K, EXACT, **asked, n_jobs=1)
    for number, holder in enumerate(holders(X, tmp_path)):
        result = kmeans(holder, K, EXACT, **asked, n_jobs=1 + number % 3)
        same(result, whole)
        in_file = not isinstance(holder, ArrayRows)
        assert isinstance(result.labels, Labels) == in_file
        assert repr(result).startswith("Result(1,200 samples" if N > 10_000 else "Result(1200 sam")


def test_large_arrays_in_memory_are_read_in_blocks(X, monkeypatch):
    asked = {"random_state": 0, "max_iter": 3}
    expected = kmeans(ArrayRows(X), K, EXACT, **asked)
    monkeypatch.setattr(sources, "LARGE", X.size - 1)
    same(kmeans(X, K, EXACT, **asked), expected)
    assert kmeans(X, K, EXACT & Constraints(must_link=[(0, 1)]), **asked).labelling is None
    assert kmeans(X, K, metric="cosine", **asked).labelling is None


def test_arrays_on_disk_that_are_not_large_obey_all_rules(X, tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "x.zarr", shape=X.shape, chunks=(100, D), dtype="f4")
    array[:] = X
    linked = kmeans(array, K, Constraints(must_link=[(0, 1)]), random_state=0)
    assert linked.labels[0] == linked.labels[1]
    with pytest.raises(bckm.UnsupportedError):
        kmeans(ArrayRows(array), K, Constraints(must_link=[(0, 1)]))


def test_data_are_not_changed_nor_copied_as_a_whole(X):
    before = X.copy()
    X.setflags(write=False)
    kmeans(ArrayRows(X), K, EXACT, random_state=0, max_iter=2)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_scale_and_shift_do_not_matter(X, scale):
    x = X.astype(float)
    plain = kmeans(ArrayRows(x), K, EXACT, random_state=0, max_iter=3)
    other = kmeans(ArrayRows(x * scale), K, EXACT, random_state=0, max_iter=3)
    np.testing.assert_array_equal(other.labels, plain.labels)
    np.testing.assert_array_equal(other.centers, plain.centers * scale)
    shifted = np.round(x, 3) + 1e6
    check(kmeans(ArrayRows(shifted), K, EXACT, random_state=0), shifted - 0, N // K, N // K)


def test_given_centers_are_where_it_begins(X):
    centers = first(X)
    result = kmeans(ArrayRows(X), K, EXACT, init=centers, max_iter=1, tol=0)
    step = result.history[0]
    expected = bckm.assign_to(X, centers, EXACT)
    assert step.assigned == pytest.approx(expected.inertia, rel=1e-9)
    bounds = Constraints(size_min=[0, 0, 0, 0, 0, 700])
    tied = kmeans(ArrayRows(X), K, bounds, init=centers, label_bounds="given", max_iter=1, tol=0)
    expected = bckm.assign_to(X, centers, bounds)
    assert tied.history[0].assigned == pytest.approx(expected.inertia, rel=1e-9)
    with pytest.raises(ValueError, match="label_bounds='given'"):
        kmeans(ArrayRows(X), K, label_bounds="given")
    with pytest.raises(ValueError, match="init has shape"):
        kmeans(ArrayRows(X), K, init=centers[:2])
    called = []

    def init(rows, k, random_state):
        called.append(rows.shape)
        return rows[:k]

    kmeans(ArrayRows(X), K, EXACT, init=init, n_init=1, max_iter=1, random_state=0)
    assert called
    assert called[0][0] < N  # it gets the sample


def test_assign_to(X):
    centers = first(X)
    for rules in (None, EXACT, Constraints(size_max=230)):
        found = bckm.assign_to(ArrayRows(X, rows=100), centers, rules)
        expected = bckm.assign_to(X, centers, rules)
        assert found.inertia == pytest.approx(expected.inertia, rel=1e-9)
        assert found.status == "optimal"
        np.testing.assert_array_equal(found.centers, centers)
        np.testing.assert_array_equal(np.bincount(found.labels, minlength=K), found.sizes)
    with pytest.raises(ValueError, match="centers have 2 features, but X has 3"):
        bckm.assign_to(ArrayRows(X), centers[:, :2])
    few = bckm.assign_to(ArrayRows(X[:3]), centers, Constraints(size_min=0, size_max=1))
    assert np.unique(few.labels).size == 3


@pytest.mark.parametrize(
    "rules",
    [Constraints(size_max=100), Constraints(size_min=500), Constraints(size_max=[0] + 5 * [N])],
)
def test_impossible_sizes_are_told_as_in_memory(X, rules):
    with pytest.raises(bckm.InfeasibleError) as in_memory:
        kmeans(X, K, rules)
    with pytest.raises(bckm.InfeasibleError) as in_blocks:
        kmeans(ArrayRows(X), K, rules)
    assert str(in_blocks.value) == str(in_memory.value)
    assert in_blocks.value.minimal == in_memory.value.minimal


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"constraints": Constraints(must_link=[(0, 1)])}, "rules other than"),
        ({"constraints": Constraints(cannot_link=[("a", "b")], by="sample_id")}, "rules other"),
        ({"constraints": Constraints(size_max=300).soft(price=1)}, "rules other than"),
        ({"metric": "cosine"}, "metric='cosine'"),
        ({"solver": "exact"}, "solver='exact'"),
        ({"sample_weight": np.ones(N)}, "sample_weight"),
        ({"sample_id": range(N)}, "sample_id"),
    ],
)
def test_what_blocks_cannot_do_is_refused(X, asked, words):
    with pytest.raises(bckm.UnsupportedError, match=words):
        kmeans(ArrayRows(X), K, **asked)


def test_what_is_not_finite_is_told_with_its_place(X, tmp_path):
    X = X.copy()
    X[700, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity, first at sample 700, feature 1;"):
        kmeans(ArrayRows(X), K)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"a": pa.array(X[:, 0]), "b c": pa.array(X[:, 1], from_pandas=True)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"first at row 700 \(counted from 0\) of column 'b c'"):
        kmeans(tmp_path / "x.parquet", K)
    X[700, 1] = 1e200 if X.dtype == float else np.inf
    with pytest.raises(ValueError, match="infinity"):
        kmeans(ArrayRows(X), K)
    with pytest.raises(ValueError, match="square overflows"):
        kmeans(ArrayRows(np.array([[1e200], [0.0]])), 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_whoever_stops_it_gets_the_last_full_step(X, error, monkeypatch):
    heard = []

    def on_step(step):
        heard.append(step)
        if len(heard) == 2:
            if error is not None:
                raise error
            monkeypatch.setattr("bckm._core.deadline.Deadline.passed", True)

    limit = None if error else 1000
    asked = {"init": first(X), "tol": 0, "on_step": on_step, "time_limit": limit}
    result = kmeans(ArrayRows(X), K, EXACT, **asked)
    monkeypatch.undo()
    assert result.status == ("interrupted" if error else "time_limit")
    assert result.n_iter == 2
    check(result, X, N // K, N // K)
    assert result.inertia == heard[1].assigned


def test_no_time_for_a_step(X):
    with pytest.raises(bckm.UndecidedError, match="raise time_limit"):
        kmeans(ArrayRows(X), K, EXACT, time_limit=0)
    with pytest.raises(bckm.UndecidedError, match="raise time_limit"):
        bckm.assign_to(ArrayRows(X), first(X), EXACT, time_limit=0)


class Killed(BaseException):
    """As sudden as a signal."""


def test_killed_at_every_step_and_resumed_to_the_same_bits(X, tmp_path):
    asked = {"init": first(X), "tol": 0, "max_iter": 8}
    whole = kmeans(ArrayRows(X), K, EXACT, **asked)
    assert whole.n_iter > 4

    def killed(step):
        raise Killed

    path = tmp_path / "x.bckm"
    with pytest.raises(Killed):
        kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path, on_step=killed)
    for at in range(2, 5):
        heard = []

        def later(step, at=at, heard=heard):
            heard.append(step.iteration)
            if step.iteration == at:
                raise Killed

        with pytest.raises(Killed):
            kmeans(ArrayRows(X, rows=99), K, EXACT, **asked, checkpoint=path, on_step=later)
        assert heard == [at - 1, at]  # the step that was under way is repeated
    same(kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path), whole)
    same(kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path), whole)  # and once more


def test_the_checkpoint_of_another_fit_is_refused(X, tmp_path):
    path, asked = tmp_path / "x.bckm", {"random_state": 0, "max_iter": 1}
    kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path)
    for other, words in (
        ((ArrayRows(X + 1), K, EXACT, asked), "other data"),
        ((ArrayRows(X), K, None, asked), "other rules"),
        ((ArrayRows(X), K, EXACT, asked | {"max_iter": 2}), "max_iter=1"),
        ((X, K, EXACT, asked), "belongs to another fit"),
    ):
        with pytest.raises(ValueError, match=words):
            kmeans(*other[:3], **other[3], checkpoint=path)
    assert read_container(path, ["checkpoint"]).content["state"]["few"].size <= 2**14


def test_a_seed_that_was_drawn_is_kept(X, tmp_path):
    path, asked = tmp_path / "x.bckm", {"max_iter": 1, "n_init": 1}
    one = kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path)
    same(kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path), one)


def test_a_checkpoint_is_small(tmp_path):
    rng = np.random.default_rng(0)
    k, d = 1000, 100
    memory = Memory(*(rng.normal(size=k) for _ in fields(Memory)))
    step = Step(0, 1, 1.0, 1.0, 1.0, bckm.Status.OPTIMAL, 5, 1.0)
    labels = rng.integers(0, k, 2**14)
    state = State(rng.normal(size=(k, d)), rng.normal(size=k), memory, 300 * (step,), labels)
    kept = checkpoint.Checkpoint(tmp_path / "x.bckm")
    kept.note(state)
    assert (tmp_path / "x.bckm").stat().st_size < 1_000_000


KILL = """
import os, signal, sys
import numpy as np
import bckm
from bckm.fit import checkpoint
from bckm.fit.in_blocks import _surveyed

checkpoint.EVERY, checkpoint.SHARE = 0.0, 0
_surveyed.SAMPLE, _surveyed.EACH = 300, 10
X = np.load(sys.argv[1], mmap_mode="r")

def killed(step):
    if step.iteration == 3:
        os.kill(os.getpid(), signal.SIGKILL)

rules = bckm.Constraints(size_min=len(X) // 6, size_max=len(X) // 6)
init = X[:6].astype(float)
bckm.kmeans(bckm.ArrayRows(X), 6, rules, init=init, tol=0, max_iter=8, checkpoint=sys.argv[2],
            on_step=killed)
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no signals")
def test_kill_9_in_the_middle(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    path = tmp_path / "x.bckm"
    command = [sys.executable, "-c", KILL, tmp_path / "x.npy", path]
    assert subprocess.run(command, check=False, timeout=100).returncode == -9
    asked = {"init": first(X), "tol": 0, "max_iter": 8}
    heard = []
    result = kmeans(ArrayRows(X), K, EXACT, **asked, checkpoint=path, on_step=heard.append)
    assert heard[0].iteration == 3
    same(result, kmeans(ArrayRows(X), K, EXACT, **asked))


@pytest.mark.parametrize("k", [1, 5, 30])
def test_few_rows_and_copies(k):
    X = np.repeat(np.arange(5.0)[:, None], 6, axis=0)
    n = len(X)
    rules = Constraints(size_min=n // k, size_max=n // k)
    result = kmeans(ArrayRows(X, rows=4), k, rules, random_state=0)
    assert result.sizes.tolist() == k * [n // k]
    assert result.inertia == pytest.approx(kmeans(X, k, rules, random_state=0).inertia, abs=1e-9)
