"""A fit that was interrupted, however and as often as you like, ends like one that was not."""

import itertools
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import bckm
from bckm._storage.container import read_container, write_container
from bckm.fit import checkpoint
from bckm.fit.lloyd import Run
from bckm.fit.search import making
from bckm.fit.search.state import State
from bckm.kernels import missing
from tests.archive import make
from tests.support.as_json import tell
from tests.support.searching import give_up_soon

N, K = 40, 4


class Killed(BaseException):
    """As sudden as a signal: nobody catches it."""


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Write after every run, and end a global search soon."""
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)
    give_up_soon(monkeypatch, patience=4)


def data(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, 2))


def timeless(result):
    """All of a result but what clocks say."""
    tree = tell(result)
    del tree["seconds"]
    for step in tree["history"][1:]:
        del step["seconds"]
    return tree


def stopping(at, error=Killed):
    """An `on_step` that stops a fit at a step."""
    heard = []

    def on_step(step):
        heard.append(step)
        if len(heard) == at:
            raise error

    on_step.heard = heard
    return on_step


def state_in(path):
    return read_container(path, ["checkpoint"]).content["state"]


APART = bckm.Constraints(cannot_link=[(0, 1, 2)], must_link=[(3, 4)])
SUMS = bckm.Constraints(capacities={"kg": bckm.Capacity(np.arange(N) % 5 + 1.0, max=36)})
ENGINES = {
    "nearest": bckm.Constraints(size_min=0),
    "transport": bckm.Constraints(size_min=[5, 6, 7, 8], size_max=[12, 13, 14, 15]),
    "exact": APART & bckm.Constraints(size_max=14),
    "lagrangian": SUMS & APART,
    "pump": APART & bckm.Constraints(size_min=8),
    "greedy": APART,
    "auto": APART & bckm.Constraints(must_link=[(5, 6), (7, 9)], size_max=11).soft(price=0.3),
}
SEARCHES = ["none"] if missing else ["none", "local", "auto", "global"]
fits = pytest.mark.parametrize(("solver", "search"), [*itertools.product(ENGINES, SEARCHES)])
compiled = pytest.mark.skipif(bool(missing), reason=missing)


def fit_of(solver, search, **more):
    options = {"solver": solver, "search": search, "n_init": 2, "random_state": 5}
    return partial(bckm.kmeans, data(), K, ENGINES[solver], **(options | more))


@pytest.mark.sampled(4)
@fits
def test_killed_again_and_again(solver, search, tmp_path):
    """Each call lives a little longer than the one before it, until one comes through."""
    path, fit = tmp_path / "fit.bckm", fit_of(solver, search)
    steps = []
    whole = fit(on_step=steps.append)
    resumed = None
    for calls in range(1, 50):
        stop = stopping(1 + 5 * calls)
        try:
            resumed = fit(checkpoint=path, on_step=stop)
        except Killed:
            continue
        break
    heard = stop.heard
    assert timeless(resumed) == timeless(whole)
    # what it did at last is the end of what the other one did
    assert [(one.start, one.objective) for one in heard] == [
        (one.start, one.objective) for one in steps[len(steps) - len(heard) :]
    ]
    if search != "none" and len(steps) > 9:
        assert calls > 1
        assert len(heard) < len(steps)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("solver", ENGINES)
@pytest.mark.parametrize("search", ["none"] if missing else ["none", "auto"])
def test_the_same_with_and_after(solver, search, tmp_path):
    path, fit = tmp_path / "fit.bckm", fit_of(solver, search)
    first = fit(checkpoint=path)
    assert timeless(first) == timeless(fit())
    before, steps = path.read_bytes(), []
    again = fit(checkpoint=path, on_step=steps.append)
    assert timeless(again) == timeless(first)
    assert steps == []  # nothing is done twice
    assert path.read_bytes() == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("search", SEARCHES)
def test_killed_at_every_step(search, tmp_path):
    fit, steps = fit_of("transport", search), []
    whole = timeless(fit(on_step=steps.append))
    for at in range(1, len(steps) + 1, 1 + len(steps) // 8):
        path = tmp_path / f"{at}.bckm"
        with pytest.raises(Killed):
            fit(checkpoint=path, on_step=stopping(at))
        assert timeless(fit(checkpoint=path)) == whole


SPECIAL = {
    "given centers": {"init": data(3, K), "n_init": 1},
    "given bounds": {"init": data(3, K), "n_init": 1, "label_bounds": "given"},
    "random": {"init": "random", "n_init": 4},
    "weights": {"sample_weight": np.arange(N) % 3 + 0.5},
    "cosine": {"metric": "cosine"},
    "few steps": {"max_iter": 2},
    "to the end": {"tol": 0.0},
    "all starts": {"n_init": "auto"},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("solver", "search"), [("transport", "auto"), ("greedy", "none" if missing else "global")]
)
@pytest.mark.parametrize("name", SPECIAL)
def test_other_ways_to_fit(name, search, solver, tmp_path):
    path, fit, steps = tmp_path / "fit.bckm", fit_of(solver, search, **SPECIAL[name]), []
    whole = timeless(fit(on_step=steps.append))
    for at in (len(steps) // 3, len(steps) // 2):  # the second one goes on after the first
        with suppress(Killed):  # little may be left to do
            fit(checkpoint=path, on_step=stopping(max(1, at)))
    assert timeless(fit(checkpoint=path)) == whole


def test_sparse_data(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_array(np.where(data() > 0.5, data(), 0.0))
    fit = partial(bckm.kmeans, X, K, bckm.Constraints(size_max=12), n_init=4, random_state=0)
    whole = timeless(fit())
    with pytest.raises(Killed):
        fit(checkpoint=tmp_path / "x", on_step=stopping(5))
    assert timeless(fit(checkpoint=tmp_path / "x")) == whole


# -- a learned metric -------------------------------------------------------------------------


def linked_fit(n_known=30, **more):
    X, _ = make.linked()
    known = np.where(np.arange(len(X)) < n_known, np.arange(len(X)) % 3, -1)
    rules = bckm.Constraints.from_labels(known) & bckm.Constraints(size_max=21)
    options = {"metric": "learned", "n_init": 4, "search": "none", "random_state": 0}
    return partial(bckm.kmeans, X, 3, rules, **(options | more))


@pytest.mark.parametrize("n_known", [30, 4])
def test_what_was_learned_is_kept(n_known, tmp_path, monkeypatch):
    path, fit, steps = tmp_path / "fit.bckm", linked_fit(n_known), []
    whole = fit(on_step=steps.append)
    assert (whole.metric.name == "learned") == (n_known > 4)
    assert whole.metric.judgment is not None
    with pytest.raises(Killed):
        fit(checkpoint=path, on_step=stopping(len(steps) - 1))
    monkeypatch.setattr("bckm.fit.in_memory.learned_metric", None)  # nothing is learned again
    assert timeless(fit(checkpoint=path)) == timeless(whole)


def test_a_metric_that_time_cut_short_is_not_kept(tmp_path):
    path, fit = tmp_path / "fit.bckm", linked_fit()
    whole = fit()
    first = fit(checkpoint=path, time_limit=1e-9)
    assert first.metric.name == "euclidean"
    assert "time was up" in first.metric.judgment.message
    assert not path.exists()
    assert timeless(fit(checkpoint=path)) == timeless(whole)
    # of a fit that has learned already, a limit takes nothing away
    assert fit(checkpoint=path, time_limit=1e-9).metric.name == "learned"
    assert timeless(fit(checkpoint=path)) == timeless(whole)


def test_a_learned_metric_of_another_fit(tmp_path):
    path, options = tmp_path / "fit.bckm", {"search": "none", "n_init": 4, "random_state": 0}
    X, rules = make.linked()
    bckm.kmeans(X, 3, rules, metric="learned", checkpoint=path, **options)
    others = [
        ("for other data", X + np.arange(60)[:, None], "learned"),
        ("for 3 features, but this fit has 2", X[:, :2], "learned"),
        ("with metric='learned', but this fit has metric='euclidean'", X, "euclidean"),
    ]
    for words, data, metric in others:
        with pytest.raises(ValueError, match=f"another fit: it was written {words}"):
            bckm.kmeans(data, 3, rules, metric=metric, checkpoint=path, **options)


def test_a_damaged_metric_is_refused(tmp_path):
    path, fit = tmp_path / "fit.bckm", linked_fit()
    fit(checkpoint=path)
    content = read_container(path, ["checkpoint"]).content
    content["metric"]["matrix"] = content["metric"]["matrix"][:2]
    write_container(path, "checkpoint", content)
    with pytest.raises(bckm.DamagedFileError, match=r"fit\.bckm is damaged .*origin of metric"):
        fit(checkpoint=path)


# -- Ctrl-C and time limits -------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
def test_ctrl_c_and_on(search, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 1e9)  # written because it ends
    path, fit, steps = tmp_path / "fit.bckm", fit_of("transport", search), []
    whole = timeless(fit(on_step=steps.append))
    cut = fit(checkpoint=path, on_step=stopping(len(steps) - 1, KeyboardInterrupt))
    assert cut.status is bckm.Status.INTERRUPTED
    assert path.exists()
    heard = []
    assert timeless(fit(checkpoint=path, on_step=heard.append)) == whole
    assert 0 < len(heard) < len(steps)


def test_nothing_is_kept_of_a_first_run_that_was_not_finished(tmp_path):
    path = tmp_path / "fit.bckm"
    fit_of("transport", "auto")(checkpoint=path, on_step=stopping(1, KeyboardInterrupt))
    assert not path.exists()


@pytest.mark.sampled(3)
@compiled
@pytest.mark.parametrize("solver", ["transport", "greedy"])
@pytest.mark.parametrize("seconds", [0.03, 0.1, 0.2])
def test_time_limits_leave_no_trace(seconds, solver, tmp_path, monkeypatch):
    """What was decided for want of time is decided again."""
    give_up_soon(monkeypatch, patience=30)
    path, fit = tmp_path / "fit.bckm", fit_of(solver, "global")
    kinds = set()
    for _ in range(3):
        kinds.add(fit(checkpoint=path, time_limit=seconds).status)
    # on a busy machine some of them do not begin
    assert kinds <= {bckm.Status.NOT_STARTED, bckm.Status.TIME_LIMIT, bckm.Status.CONVERGED}
    # a search with a limit may go on where one without has its end
    if (
        path.exists()
        and read_container(path, ["checkpoint"]).content["state"]["n_populations"] == 0
    ):
        assert timeless(fit(checkpoint=path)) == timeless(fit())


@compiled
def test_what_is_left_out_for_want_of_time_is_not_kept(tmp_path, monkeypatch):
    path = tmp_path / "fit.bckm"
    fit = fit_of("transport", "global", time_limit=1e6, n_init=1)
    whole = timeless(fit())
    with monkeypatch.context() as patched:
        patched.setattr(making, "LOOPS", 1e15)  # no child is worth so much time
        cut_short = timeless(fit(checkpoint=path))
    assert cut_short != whole
    assert timeless(fit(checkpoint=path)) == whole


def test_what_was_done_too_late_is_not_kept(tmp_path):
    """Engines may have stopped early; a run does not always know."""
    path, steps = tmp_path / "fit.bckm", []

    def on_step(step):
        steps.append(step)
        if len(steps) == 2:
            time.sleep(0.6)

    fit = fit_of("transport", "none", n_init=3, max_iter=1)
    cut = fit(checkpoint=path, on_step=on_step, time_limit=0.5)
    assert cut.status is bckm.Status.TIME_LIMIT
    assert state_in(path)["n_starts"] == 1
    assert timeless(fit(checkpoint=path)) == timeless(fit())


@pytest.mark.sampled(1)
@compiled
@pytest.mark.parametrize("solver", ["transport", "greedy"])
def test_more_populations_within_a_limit(solver, tmp_path):
    """Killed anywhere in them; the limit itself is never reached."""
    fit, steps = fit_of(solver, "global", time_limit=1e6), []
    whole = timeless(fit(on_step=steps.append))
    assert max(step.start for step in steps) > 2 * 3  # several populations
    for at in range(3, len(steps), 1 + len(steps) // 5):
        path = tmp_path / f"{at}.bckm"
        with pytest.raises(Killed):
            fit(checkpoint=path, on_step=stopping(at))
        assert timeless(fit(checkpoint=path)) == whole


@compiled
def test_more_time_goes_on_after_a_search_without_limit(tmp_path):
    path = tmp_path / "fit.bckm"
    fit_of("transport", "global")(checkpoint=path)
    whole = fit_of("transport", "global", time_limit=1e6)
    assert timeless(whole(checkpoint=path)) == timeless(whole())


# -- seeds ------------------------------------------------------------------------------------


def test_a_drawn_seed_is_kept(tmp_path):
    path = tmp_path / "fit.bckm"
    fit = fit_of("transport", "none", n_init=5, random_state=None)
    with suppress(Killed):  # any seed may be drawn, also one that needs fewer steps
        fit(checkpoint=path, on_step=stopping(12))
    seed = read_container(path, ["checkpoint"]).content["entropy"]
    whole = fit_of("transport", "none", n_init=5, random_state=seed)()
    assert timeless(fit(checkpoint=path)) == timeless(whole)
    with pytest.raises(ValueError, match="with random_state=None, but this fit has random_state=5"):
        fit_of("transport", "none", n_init=5)(checkpoint=path)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_cannot_begin_again(kind, tmp_path):
    with pytest.raises(bckm.UnsupportedError, match="must be a whole number or None; got a"):
        fit_of("transport", "auto", random_state=kind(0))(checkpoint=tmp_path / "x")
    assert not (tmp_path / "x").exists()


# -- files of others --------------------------------------------------------------------------

OTHERS = [
    ({"X": data(1)}, "for other data"),
    ({"X": data(0, 39)}, "for 40 samples, but this fit has 39"),
    ({"X": data()[:, :1]}, "for 2 features, but this fit has 1"),
    ({"n_clusters": 3}, "for 4 clusters, but this fit has 3"),
    ({"sample_weight": np.arange(N) + 1.0}, "for other sample weights"),
    ({"constraints": APART & bckm.Constraints(size_max=13)}, "under other rules"),
    ({"constraints": APART}, "under other rules"),
    ({"constraints": SUMS}, "under other rules"),
    ({"init": "random"}, "with another init"),
    ({"init": data(0, K), "n_init": "auto"}, "with another init"),
    ({"solver": "greedy"}, "with solver='exact', but this fit has solver='greedy'"),
    ({"search": "none"}, "with search='auto', but this fit has search='none'"),
    ({"n_init": 4}, "with starts=2, but this fit has starts=4"),
    ({"max_iter": 299}, "with max_iter=300, but this fit has max_iter=299"),
    ({"tol": 0.0}, "with tol=0.0001, but this fit has tol=0.0"),
    ({"random_state": 6}, "with random_state=5, but this fit has random_state=6"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "fit.bckm"
    fit_of("exact", "auto")(checkpoint=path)
    return path


@pytest.mark.parametrize(("changed", "words"), OTHERS)
def test_the_file_of_another_fit_is_refused(changed, words, finished):
    asked = {"X": data(), "n_clusters": K, "constraints": ENGINES["exact"], "solver": "exact"}
    asked |= {"search": "auto", "n_init": 2, "random_state": 5, "checkpoint": finished}
    before = finished.read_bytes()
    with pytest.raises(ValueError, match=f"belongs to another fit: it was written {words}; choose"):
        bckm.kmeans(**(asked | changed))
    assert finished.read_bytes() == before
    asked |= {"n_jobs": 1, "time_limit": 60.0, "random_state": np.int64(5)}  # these may differ
    assert bckm.kmeans(**asked).status is bckm.Status.CONVERGED


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("format", 1, "by another version of bckm"),
        ("library", "9.9.9", f"by bckm 9.9.9, but this is {bckm.__version__}"),
        ("kernels", bool(missing), "with(out)? compiled kernels, unlike this fit"),
        ("metric", "cosine", "with metric='cosine', but this fit has metric='euclidean'"),
        (
            "label_bounds",
            "given",
            "with label_bounds='given', but this fit has label_bounds='matched'",
        ),
    ],
)
def test_what_else_must_be_as_before(name, value, words, finished, tmp_path):
    path = _forged(finished, tmp_path, lambda tree: tree["fit"].update({name: value}))
    with pytest.raises(ValueError, match=f"was written {words}; choose another file"):
        fit_of("exact", "auto")(checkpoint=path)


def _forged(finished, tmp_path, change):
    content = read_container(finished, ["checkpoint"]).content
    change(content)
    write_container(tmp_path / "x.bckm", "checkpoint", content)
    return tmp_path / "x.bckm"


def _trial(tried=(0, 1), at_once=(1,), changes=(1.0,)):
    return {"tried": np.array(tried), "at_once": np.array(at_once), "changes": np.array(changes)}


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.pop("fit"),
        lambda tree: tree.pop("state"),
        lambda tree: tree["state"].pop("start"),
        lambda tree: tree["state"].update(start=np.zeros(N, int)),
        lambda tree: tree["state"].update(start=tree["state"]["start"][:-1]),
        lambda tree: tree["state"].update(runs=[]),
        lambda tree: tree["state"].update(n_runs=-1),
        lambda tree: tree["state"].update(start_work="much"),
        lambda tree: tree["state"].update(population=np.array([99])),
        lambda tree: tree["state"].update(_trial(tried=[0, K])),
        lambda tree: tree["state"].update(_trial(tried=[0])),
        lambda tree: tree["state"].update(_trial(at_once=[2])),
        lambda tree: tree["state"].update(_trial(at_once=[1, 1])),
        lambda tree: tree["state"].update(_trial(changes=[np.inf])),
        lambda tree: tree["state"]["runs"][0].update(labels=tree["state"]["start"] * 0),
        lambda tree: tree["state"]["runs"][0].update(labels=tree["state"]["start"] + 9),
        lambda tree: tree["state"]["runs"][0].update(centers=np.zeros((K, 3))),
        lambda tree: tree["state"]["runs"][0].update(status="fine"),
        lambda tree: tree["state"]["runs"][0].update(status="interrupted"),
        lambda tree: tree["state"]["runs"][0].update(cost=float("nan")),
        lambda tree: tree["state"]["runs"][0].pop("history"),
    ],
)
def test_checkpoints_that_nobody_wrote(change, finished, tmp_path):
    path = _forged(finished, tmp_path, change)
    with pytest.raises(bckm.DamagedFileError, match=r"x.bckm is damaged or .* delete it to start"):
        fit_of("exact", "auto")(checkpoint=path)


def test_a_damaged_file_is_refused_not_replaced(finished, tmp_path):
    data, path = finished.read_bytes(), tmp_path / "x.bckm"
    rng, fit = np.random.default_rng(0), fit_of("exact", "auto")
    right, kept = timeless(fit(checkpoint=finished)), 0
    for number in range(100):
        broken = bytearray(data)
        at = int(rng.integers(len(data)))
        if number % 4:
            broken[at] ^= 1 << int(rng.integers(8))
        else:
            del broken[at:]
        path.write_bytes(broken)
        try:
            found = fit(checkpoint=path)
        except bckm.DamagedFileError:
            assert path.read_bytes() == bytes(broken)
        else:
            kept += 1
            assert timeless(found) == right
    assert kept < 50


def test_a_pipe_is_no_checkpoint(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        bckm.kmeans([[0.0], [1.0]], 2, checkpoint=tmp_path / "pipe")


def test_files_that_are_no_checkpoints(finished, tmp_path):
    fit, path = fit_of("exact", "auto"), tmp_path / "x.bckm"
    bckm.save(fit(), path)
    with pytest.raises(ValueError, match="holds a result, not a checkpoint"):
        fit(checkpoint=path)
    with pytest.raises(ValueError, match="holds a checkpoint, not a result or a model or a study"):
        bckm.load(finished)
    path.write_bytes(b"")
    with pytest.raises(bckm.DamagedFileError, match="is empty"):
        fit(checkpoint=path)
    with pytest.raises(bckm.DamagedFileError, match="is a folder"):
        fit(checkpoint=tmp_path)
    with pytest.raises(FileNotFoundError, match="folder of the checkpoint"):
        fit(checkpoint=tmp_path / "absent" / "x")


# -- writing ----------------------------------------------------------------------------------


def test_a_small_fit_writes_once(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 5.0)
    written = []
    inner = checkpoint.write_container
    monkeypatch.setattr(
        checkpoint, "write_container", lambda *args: (written.append(args[0]), inner(*args))
    )
    fit_of("transport", "auto")(checkpoint=tmp_path / "x")
    assert len(written) == 1


def test_writes_are_a_small_part_of_the_time(tmp_path, monkeypatch):
    """A slow disk is written to less often."""
    now, written = [0.0], []

    def slow(*_):
        written.append(now[0])
        now[0] += 2.0

    monkeypatch.setattr(checkpoint, "EVERY", 5.0)
    monkeypatch.setattr(checkpoint, "SHARE", 20)
    monkeypatch.setattr(checkpoint.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(checkpoint, "write_container", slow)
    kept = checkpoint.Checkpoint(tmp_path / "x")
    state = State(np.zeros(2, int), Run(np.zeros(2, int), np.zeros((1, 1)), 1.0))
    for _ in range(200):
        now[0] += 1.0
        kept.note(state)
    assert 4 <= len(written) <= 6


def test_a_full_disk_ends_no_fit(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    fit = fit_of("transport", "none")
    monkeypatch.setattr(checkpoint, "write_container", full)
    with pytest.warns(RuntimeWarning, match="cannot be written .*No space.* continues"):
        found = fit(checkpoint=tmp_path / "x")
    assert timeless(found) == timeless(fit())


@pytest.mark.parametrize("cost", [-1.0, 0.0, 3.0, 1e9, float("inf")])
def test_costs_that_labels_do_not_have_are_refused(cost, tmp_path):
    """Else the inertia of the result, or the choice of the best, would be what the file says."""
    path = tmp_path / "x"
    fit = fit_of("transport", "none")
    fit(checkpoint=path)
    tree = read_container(path, ["checkpoint"]).content
    tree["state"]["runs"][0]["cost"] = cost
    write_container(path, "checkpoint", tree)
    with pytest.raises(bckm.DamagedFileError, match="labels cost"):
        fit(checkpoint=path)


# -- kill -9 ----------------------------------------------------------------------------------


def kill(what, number, seed):
    command = [sys.executable, "-m", "tests.support.killed_writers", what, str(number), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["killed"] >= number * 0.8
    assert counts["old or new"] >= number
    return counts


@pytest.mark.full
def test_kill_9_while_saving():
    assert kill("save", 15, 0)["writing"] > 0


@pytest.mark.full
@compiled
def test_kill_9_of_a_fit():
    counts = kill("fit", 5, 0)
    assert counts["equal"] == counts["fits"] > 0
