"""Every kernel once, on few rows: what compute-sanitizer goes through."""

from dataclasses import replace

import cupy as cp
import numpy as np
import pytest

import bckm
from bckm.blocks.borders import bin_ends
from bckm.blocks.gap_counts import GapCounts, others_of
from bckm.blocks.gpu.cupy_passes import CupyPasses
from tests.gpu.test_gpu_passes import check_best
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
    assert passes.slacks(label, slack, 11).sum() <= len(X)
    depth = np.full(11, bin_ends()[-1])
    assert passes.bordering(rows, label, slack, 5, depth, 0)[0].size <= len(X)
    other, counts = (
        others_of(question.centers, question.prices, question.centers),
        passes.counted(label, 11),
    )
    assert (
        passes.gaps(rows, label, counts, other, 0 * other.astype(float), 1e3, None).sum()
        == len(X) * other.shape[1]
    )
    limit = np.full(other.shape, 1.0)
    gaps = GapCounts(other, np.zeros((1, 1, 1), np.uint32), 0 * limit, 1e3)
    assert passes.moves(rows, label, counts, gaps, limit)[0].size <= 11 * len(X)
    went = 0.1 * np.random.default_rng(d).normal(size=11)
    question = replace(question, prices=question.prices + went)
    passes.ask(question, X.dtype)
    index, before = passes.again(rows, label, slack, went.max() - went + 1e-11, np.zeros(11))
    check_best(X, question, label, slack)
    if len(index):
        assert passes.moved(rows, label, index, before).counts.sum() == 0
        assert passes.flow(before, label, index, 11).rows.sum() == len(index)
    assert passes.counted(label, 11).sum() == len(X)
    assert passes.sampled(rows, 5, 0.3, 1).size < len(X)
    assert passes.within(slack, 1e30).size <= len(X)
    found = passes.empty(rows, X.dtype, 11)
    passes.distances(rows, question.centers, found)
    assert bool(cp.isfinite(found).all())


@pytest.mark.parametrize("seed", [2, 3, 5, 7])
def test_whole_steps(seed):
    problem = device_problem(seed, most=600)
    result = bckm.assign_to(cp.asarray(problem.X), problem.centers, problem.rules)
    check_result(problem, result, problem.centers)
