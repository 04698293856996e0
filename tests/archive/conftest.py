"""Studies that were saved before: the same with and without kernels."""

import pytest

import bckm
from tests.archive import make


@pytest.fixture(scope="module")
def a_study():
    return bckm.load(make.HERE / "study.bckm")  # the same with and without kernels


@pytest.fixture(scope="module")
def a_learned_study():
    return bckm.load(make.HERE / "learned.bckm")
