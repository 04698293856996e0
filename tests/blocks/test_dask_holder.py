"""Rows of a dask array answer as rows in memory do, whatever the chunks."""

import pickle
import time
from collections import Counter
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask.utils import key_split

from bckm._core.deadline import Deadline, TimeUp
from bckm.blocks.answer import FEW, SPARE, merged
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.dask_holder import DaskHolder
from bckm.blocks.labeling import label_block
from bckm.blocks.look import look
from bckm.blocks.question import WINDOWS, Listed
from tests.support.ctrl_c import interrupt_after, needs_signals
from tests.support.dask_cluster import drawn_array
from tests.support.looks import drawn_labeling, drawn_question, same
from tests.support.row_data import KINDS, drawn_rows

CHUNKS = {"one": -1, "two": 300, "many": 7, "unequal": (0, 1, 0, 320, 179, 0)}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_the_answers_are_those_of_rows_in_memory(chunks, kind):
    n, d, k = 500, 3, 6
    X = drawn_rows(0, n, d, kind)
    here, there = ArrayHolder(X), DaskHolder(drawn_array(n, d, chunks, kind))
    assert (there.n_rows, there.n_features, there.dtype) == (n, d, X.dtype)
    same(there.survey(0.3, 1), here.survey(0.3, 1))
    question = drawn_question(X, k)
    same(there.look(question), here.look(question))
    labeling = drawn_labeling(question, n)
    same(there.count(labeling), here.count(labeling))
    labels = there.labels(labeling)
    assert labels.chunks == drawn_array(n, d, chunks).chunks[:1]
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels.compute(), label_block(X, 0, labeling))
    assert (there.passes, there.received) == (3, here.received)  # labels are asked for by others


def test_columns_are_joined_and_lengths_are_counted():
    X = drawn_rows(0, 100, 4).astype(np.float32)
    question = drawn_question(X, 3)
    expected = ArrayHolder(X).look(question)
    same(DaskHolder(da.from_array(X, chunks=(30, 3))).look(question), expected)
    unknown = da.from_array(np.vstack([X, X - 100]), chunks=(30, 3))
    unknown = unknown[unknown[:, 0] > -50]
    assert np.isnan(unknown.shape[0])
    same(DaskHolder(unknown).look(question), expected)
    assert np.isnan(unknown.shape[0])  # it is still the array of the caller


@pytest.mark.parametrize(
    ("given", "held"), [("i4", "f8"), ("f2", "f4"), ("?", "f8"), (">f8", "f8")]
)
def test_numbers_are_read_as_in_memory(given, held):
    X = (4 * drawn_rows(0, 60, 2)).astype(given)
    holder = DaskHolder(da.from_array(X, chunks=(25, 2)))
    assert holder.dtype == np.dtype(held)
    np.testing.assert_array_equal(holder.survey(1.0, 0).rows, X.astype(held))


def test_frames():
    X = drawn_rows(0, 60, 2)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["height", "width"]), npartitions=4)
    holder = DaskHolder(frame)
    assert holder.names == ("height", "width")
    assert holder.place(3, 1) == "sample 3, feature 'width'"
    same(holder.survey(0.5, 0), ArrayHolder(X).survey(0.5, 0))
    numbered = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    assert DaskHolder(numbered).names is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (da.ones(5), "two dimensions"),
        (da.ones((5, 2), dtype=complex), "Complex data not supported"),
        (da.from_array(np.array([["a"], ["b"]])), "must be numeric"),
        (da.ones((5, 2)).map_blocks(sp.csr_array), "must be NumPy arrays, not csr_array"),
        (da.ones((5, 2)).map_blocks(np.ma.masked_array), "must be NumPy arrays, not MaskedArray"),
        (da.ones((0, 2)), "0 samples"),
        (dd.from_pandas(pd.Series([1.0, 2.0])), "got a Series"),
        (dd.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]})), "must be numeric"),
        (dask.delayed(3), "got a Delayed"),
    ],
)
def test_what_cannot_be_clustered_is_told(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        DaskHolder(given)


def test_the_first_number_that_is_not_finite_is_named():
    X = drawn_rows(0, 60, 2)
    X[[40, 50], [1, 0]] = np.nan, np.inf
    survey = DaskHolder(da.from_array(X, chunks=(7, 2))).survey(0.5, 0)
    with pytest.raises(ValueError, match="first at sample 40, feature 1"):
        survey.check()


def test_the_deadline_is_heard_and_failures_are_told():
    holder = DaskHolder(drawn_array(100, 2, 10))
    with pytest.raises(TimeUp):
        holder.survey(0.5, 0, Deadline.after(0.0))

    def broken(block):
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        DaskHolder(da.ones((10, 2)).map_blocks(broken, meta=np.empty((0, 0)))).survey(0.5, 0)


@needs_signals
def test_ctrl_c_ends_a_pass():
    begun = []

    def slowly(block):
        begun.append(block)
        time.sleep(0.1)
        return block

    X = drawn_array(100, 2, 1)
    holder = DaskHolder(X.map_blocks(slowly, meta=np.empty((0, 0))))
    with dask.config.set(num_workers=2), interrupt_after(0.15), pytest.raises(KeyboardInterrupt):
        holder.survey(0.5, 0)
    assert len(begun) < 50  # and no more will


def most_bytes(n, question, dtype):
    """No answer about n rows is larger, from however many blocks it was merged."""
    k, d = question.centers.shape
    listed = 0 if question.listed is None else len(question.listed.rows)
    rows = min(n, question.most)  # different ones, with cluster, number and first sample
    return (
        (16 * k + 16 * k * d)  # counts, farthest rows and sums
        + 4 * k * k  # least gaps
        + (rows + min(n, question.most >> SPARE)) * (d * np.dtype(dtype).itemsize + 9)  # drawn
        + rows * (d * np.dtype(dtype).itemsize + 20)
        + 16 * min(n, FEW * rows)  # samples of rows that few have
        + 8 * WINDOWS * listed
        + 2000  # names and shapes
    )


@pytest.mark.parametrize("most", [2**18, 50])
@pytest.mark.parametrize("kind", ["uniform", "copies"])
def test_messages_are_bounded(kind, most):
    n, d, k, blocks = 6000, 4, 12, 12
    X = drawn_rows(0, n, d, kind).astype(np.float32)
    question = drawn_question(X, k, most=most)
    listed = Listed(X[:3], np.zeros(3, np.int64), -(-n // WINDOWS), np.inf)
    question = replace(question, listed=listed)
    rows = n // blocks
    parts = [look(X[at : at + rows], at, question) for at in range(0, n, rows)]
    whole = merged(parts)
    for some, answer in ((rows, parts[0]), (3 * rows, merged(parts[:3])), (n, whole)):
        assert len(pickle.dumps(answer)) <= most_bytes(some, question, X.dtype)
        assert answer.nbytes <= most_bytes(some, question, X.dtype)
    assert whole.taken.overflow == (kind == "uniform" and most == 50)
    if kind == "copies":  # however many there are
        assert len(pickle.dumps(whole)) - 8 * WINDOWS * 3 < 5 * n
    assert len(pickle.dumps(question)) <= 8 * k * (k + d + 2) + 8 * d + listed.rows.nbytes + 2000


class Spied:
    """A scheduler that computes here and remembers each graph."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, keys, **options):
        self.graphs.append(dict(graph.__dask_graph__()))
        return dask.get(graph, keys)


@pytest.mark.parametrize("rows", [10, 1000])  # of a block
def test_the_graph_has_few_tasks_and_no_rows(rows):
    blocks, d, k = 30, 4, 20
    n = rows * blocks
    X = drawn_array(n, d, rows)
    question = drawn_question(drawn_rows(0, n, d), k)
    holder, spied = DaskHolder(X), Spied()
    with dask.config.set(scheduler=spied):
        answer = holder.look(question)
    same(answer, ArrayHolder(drawn_rows(0, n, d)).look(question))
    (graph,) = spied.graphs
    kinds = Counter(key_split(key) for key in graph)
    assert kinds["look"] == blocks
    assert kinds["merged"] == 3 + 1  # of at most 12 each
    assert kinds["Question"] == 1
    assert sum(kinds.values()) <= 3 * blocks + 5
    size = len(pickle.dumps(graph))
    assert size <= len(pickle.dumps(question)) + 1000 * len(graph)
    assert len(pickle.dumps(question)) <= 8 * (k * d + 2 * k + k * k) + 8 * d + 2000
