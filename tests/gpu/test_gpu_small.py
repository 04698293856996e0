"""Every kernel once, on few rows: what compute-sanitizer goes through."""

from dataclasses import replace

import cupy as cp
import numpy as np
import pytest

import bckm
from bckm.blocks.borders import bin_ends
from bckm.blocks.gpu.cupy_passes import CupyPasses
from tests.gpu.seen import check_best
from tests.support.device_problems import check_result, device_problem
from tests.support.looks import drawn_question
from tests.support.row_data import drawn_rows

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 17, 65, 130])
def test_every_kernel(d, dtype):
    X = np.ascontiguousarray(drawn_rows(0, 777, d, "blobs", d), dtype)
    question, rows = drawn_question(X, 11, seed=d), cp.asarray(X)
    passes = CupyPasses(rows, X.dtype)
    passes.ask(question, X.dtype)
    label, slack = passes.empty(rows, np.int32), passes.empty(rows, np.float32)
    passes.best(rows, label, slack)
    check_best(X, question, label, slack)
    assert passes.tally(rows, label).counts.sum() == len(X)
    assert passes.near(rows, label, slack, 5).taken.size <= len(X)
    assert passes.slacks(label, slack, 11, 0, 1).sum() <= len(X)
    depth = np.full(11, bin_ends()[-1])
    assert passes.bordering(rows, label, slack, 5, depth, 0)[0].size <= len(X)
    assert passes.moves(rows, label, slack, depth)[1].size <= 10 * len(X)
    pairs = passes.pairs(passes.tally(rows, label), None)
    parts = (slice(0, 300), slice(300, None))
    chunks = [passes.plain(rows[part], X.dtype) for part in parts]
    for part, chunk in zip(parts, chunks, strict=True):
        pairs.add(chunk, label[part], passes.counted(label[part], 11))
    limit = pairs.limits(np.full((11, 10), 3.0), shorter=True)
    assert (limit > 0).all()
    for number, chunk in enumerate(chunks):
        assert 0 < pairs.moves(number, chunk, limit)[1].size <= 10 * len(X)
    went = 0.1 * np.random.default_rng(d).normal(size=11)
    question = replace(question, prices=question.prices + went)
    passes.ask(question, X.dtype)
    index, before = passes.again(rows, label, slack, went.max() - went + 1e-11, np.zeros(11))
    check_best(X, question, label, slack)
    if len(index):
        assert passes.moved(rows, label, index, before).counts.sum() == 0
        met = passes.met(None, before, label, index)
        assert int(met.sum()) == len(index)
        assert passes.pairs(passes.tally(rows, label), met).other.shape == (11, 10)
    assert passes.counted(label, 11).sum() == len(X)
    assert passes.sampled(rows, 5, 0.3, 1).size < len(X)
    assert passes.within(slack, 1e30).size <= len(X)
    found = passes.empty(rows, X.dtype, 11)
    passes.distances(rows, question.centers, found)
    assert bool(cp.isfinite(found).all())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "k"), [(1, 2), (3, 11), (17, 33), (65, 161), (130, 300)])
def test_every_kernel_of_rows_that_lead_to_prices(d, k, dtype):
    """Steps by elimination, and by conjugate gradients where clusters are many."""
    X = np.ascontiguousarray(drawn_rows(0, 777, d, "uniform", d), dtype)
    question, rows = drawn_question(X, k, seed=d), cp.asarray(X)
    soft = CupyPasses(rows, X.dtype).soft_rows([(rows[:500], np.arange(0, 500, 2))])
    assert soft.size == 250
    listing = soft.list(question)
    assert (listing.gaps >= 0).all()
    assert listing.reach >= 0
    found = soft.soften(question.prices, float(np.quantile(listing.gaps, 0.3)))
    assert abs(found.shared.sum() - 250) < 1e-3
    assert found.units.sum() == 250
    assert found.soft <= found.hard
    gradient = found.shared - 250 / k
    step = found.step(gradient, np.ones(k, bool), 1e-3)
    assert gradient @ step > 0
    assert step @ found.pull(step) >= 0


@pytest.mark.parametrize("seed", [2, 3, 5, 7])
def test_whole_steps(seed):
    problem = device_problem(seed, most=600)
    result = bckm.assign_to(cp.asarray(problem.X), problem.centers, problem.rules)
    check_result(problem, result, problem.centers)
