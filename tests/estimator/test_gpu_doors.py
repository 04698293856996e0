"""Arrays of a device at every door: answers are in kind, or a sentence says the way out."""

import subprocess
import sys

import numpy as np
import pytest

import bckm
from bckm._core.on_device import device_of, in_kind, on_host
from bckm.blocks.sources import fits_memory
from tests.support.numpy_passes import DeviceArray, Tensor, on_a_device

WAY = r"X\.get\(\) of CuPy, X\.cpu\(\)\.numpy\(\) of PyTorch, numpy\.asarray\(X\) of JAX"
X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
RULES = bckm.Constraints(size_min=50, size_max=70)
KINDS = pytest.mark.parametrize("kind", [DeviceArray, Tensor])


@pytest.fixture(name="device")
def a_device(monkeypatch):
    on_a_device(monkeypatch)


@pytest.fixture(name="result")
def a_result(device):
    return bckm.kmeans(Tensor(X), 5, RULES, search="none", random_state=0)


@KINDS
def test_functions_answer_in_kind(kind, device):
    result = bckm.kmeans(kind(X), 5, RULES, search="none", random_state=0)
    assert type(result.labels) is kind
    assert isinstance(result.centers, np.ndarray)
    assert np.array_equal(np.bincount(result.labels.hidden), result.sizes)
    there = result.on_device_of(kind(X))
    assert type(there.labels) is type(there.centers) is type(there.prices) is kind
    assert there.centers.dtype == there.prices.dtype == np.float32
    assert np.array_equal(there.centers.hidden, result.centers.astype(np.float32))
    # init and centers may be there, too
    again = bckm.kmeans(kind(X), 5, RULES, init=kind(result.centers), random_state=0)
    assert np.array_equal(again.labels.hidden, result.labels.hidden)
    assigned = bckm.assign_to(kind(X), kind(result.centers), RULES)
    assert type(assigned.labels) is kind
    assert assigned.inertia == result.inertia
    here = bckm.assign_to(X, kind(result.centers), RULES)
    assert isinstance(here.labels, np.ndarray)


@KINDS
def test_the_estimator_answers_in_kind(kind, device):
    model = bckm.ConstrainedKMeans(5, size_min=50, size_max=70, search="none", random_state=0)
    assert type(model.fit_predict(kind(X))) is kind
    assert type(model.labels_) is kind
    assert model.n_features_in_ == 3
    host = bckm.ConstrainedKMeans(5, size_min=50, size_max=70, search="none", random_state=0)
    host.fit(bckm.ArrayRows(X))
    assert np.array_equal(model.labels_.hidden, host.labels_)
    new = X[:70] + np.float32(0.1)
    for method in ("predict", "transform", "assign"):
        found = getattr(model, method)(kind(new))
        assert type(found) is kind
        np.testing.assert_allclose(found.hidden, getattr(host, method)(new), rtol=1e-6)
        assert isinstance(getattr(model, method)(new), np.ndarray)
    assert np.isclose(model.score(kind(new)), host.score(new), rtol=1e-12)
    # fitted in memory, asked on the device
    inside = bckm.ConstrainedKMeans(5, size_min=50, search="none", random_state=0).fit(X)
    assert np.array_equal(inside.predict(kind(new)).hidden, inside.predict(new))
    with pytest.raises(ValueError, match="X has 2 features, but ConstrainedKMeans is expecting 3"):
        model.predict(kind(new[:, :2]))


@pytest.mark.parametrize(
    ("rules", "options", "words"),
    [
        (bckm.Constraints(must_link=[(0, 1)]), {}, "rules other than size_min and size_max work"),
        (RULES, {"sample_weight": np.ones(300)}, "sample_weight works"),
        (RULES, {"metric": "cosine"}, "metric='cosine' works"),
        (RULES, {"solver": "exact"}, "solver='exact' works"),
        (RULES, {"objective": "mixed"}, "objective='mixed' works"),
        (RULES, {"sample_id": range(300)}, "sample_id has a use"),
    ],
)
def test_what_is_refused_says_the_way_out(rules, options, words, device):
    with pytest.raises(bckm.UnsupportedError, match=f"{words} only on the host.*{WAY}"):
        bckm.kmeans(Tensor(X), 5, rules, **options)
    assert not fits_memory(Tensor(X))


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (DeviceArray(X[:, 0]), ValueError, r"two dimensions \(samples, features\); got shape"),
        (DeviceArray(X[:0]), ValueError, "X has 0 samples and 3 features"),
        (DeviceArray(X.astype(complex)), ValueError, "Complex data not supported"),
        (DeviceArray(X.astype("S1")), ValueError, "X must be numeric; got dtype"),
        (DeviceArray(X[:3]), ValueError, "n_samples=3 should be >= n_clusters=5"),
        (DeviceArray(X, device=10), bckm.UnsupportedError, f"a device of ROCm; only .*{WAY}"),
        (DeviceArray(X, device=99), bckm.UnsupportedError, "DLPack's number 99"),
        (DeviceArray(1e200 * X.astype(float)), ValueError, "overflows; rescale X"),
    ],
)
def test_arrays_that_cannot_be(array, error, words, device):
    with pytest.raises(error, match=words):
        bckm.kmeans(array, 5, RULES)
    with pytest.raises(error, match=words):
        bckm.ConstrainedKMeans(5, size_min=50).fit(array)


def test_results_are_shown_saved_and_checked(result, tmp_path):
    there = result.on_device_of(Tensor(X))
    for one in (result, there):
        assert repr(one).startswith("Result(300 samples in 5 clusters of ")
        assert "300 samples" in one._repr_html_()
        assert bckm.verify(one.labels, 5, RULES) == []
        bckm.save(one, tmp_path / "result.bckm")
        again = bckm.load(tmp_path / "result.bckm")
        assert np.array_equal(again.labels, result.labels.hidden)
        study = bckm.Study.of(one, X, RULES)
        assert isinstance(study.result.labels, np.ndarray)
        assert isinstance(study.result.centers, np.ndarray)
        bckm.report.write(study, tmp_path / "report.html")
    model = bckm.ConstrainedKMeans(5, size_min=50, search="none", random_state=0).fit(Tensor(X))
    bckm.save(model, tmp_path / "model.bckm")
    assert np.array_equal(bckm.load(tmp_path / "model.bckm").labels_, model.labels_.hidden)


def test_a_whole_x_is_not_copied_in_silence(result):
    for ask in (
        lambda: bckm.certify(result, Tensor(X), RULES),
        lambda: bckm.Study.of(result, Tensor(X), RULES),
        lambda: bckm.ArrayRows(Tensor(X)),
        lambda: bckm.LearnedMetric().fit(Tensor(X), must_link=[(0, 1)]),
    ):
        with pytest.raises(TypeError, match=f"X lives on a GPU.*on the host only: pass {WAY}"):
            ask()
    stopped = bckm.kmeans(Tensor(X), 5, RULES, tol=0, search="none", random_state=0)
    assert bckm.certify(stopped, X, RULES, time_limit=0.05).objective == stopped.objective


def test_rules_are_checked_for_the_number_of_rows():
    assert bckm.check(Tensor(X), 5, RULES)
    assert not bckm.check(Tensor(X), 5, bckm.Constraints(size_max=50))


def test_results_come_to_the_host(result):
    here = result.on_device_of(X).on_device_of(np.eye(2))
    assert here.centers.dtype == here.prices.dtype == np.float64
    assert np.array_equal(here.labels, result.labels.hidden)
    assert isinstance(result.on_device_of([[1.0]]).labels, np.ndarray)
    assert np.array_equal(on_host(result.labels), here.labels)


def test_arrays_of_the_host_are_not_meant():
    class Pinned(DeviceArray):
        """As PyTorch's on the CPU."""

    assert device_of(Pinned(X, device=1)) is device_of(Pinned(X, device=3)) is None
    assert device_of(X) is device_of(X.tolist()) is device_of("text") is device_of(None) is None
    assert device_of(DeviceArray(X, device=13)) == 13
    assert isinstance(in_kind(X, np.eye(2)), np.ndarray)

    class Old:
        """As Numba's, which does not know DLPack."""

        __cuda_array_interface__ = None

    assert device_of(Old()) == 2


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    import bckm.blocks.gpu as folder

    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "bckm.blocks.gpu.cupy_passes", raising=False)
    monkeypatch.delattr(folder, "cupy_passes", raising=False)
    with pytest.raises(ImportError, match=r"needs CuPy: run pip install 'bckm\[gpu\]'"):
        bckm.kmeans(DeviceArray(X), 5, RULES)


@pytest.mark.full
def test_importing_costs_nothing():
    code = (
        "import sys, bckm; bckm.kmeans([[0.0], [1.0]], 2, bckm.Constraints(size_max=1));"
        "found = [m for m in sys.modules if m.startswith(('cupy', 'torch', 'bckm.blocks.gpu'))];"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
