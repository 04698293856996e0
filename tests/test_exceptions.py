"""Exceptions: one base class, and what each was before."""

import pickle

import pytest

import bckm
from bckm.methods import MethodFailure
from bckm.plan import PlanError
from bckm.tables import NoFileError, OptionError, TableError, UnknownColumnError

KINDS = {
    bckm.InfeasibleError: ValueError,
    bckm.UndecidedError: RuntimeError,
    bckm.UnsupportedError: ValueError,
    bckm.DamagedFileError: ValueError,
    bckm.FileInUseError: OSError,
    TableError: ValueError,
    NoFileError: FileNotFoundError,
    OptionError: ValueError,
    UnknownColumnError: ValueError,
    PlanError: ValueError,
    MethodFailure: RuntimeError,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_is_an_error_of_the_library_and_of_python(kind):
    assert issubclass(kind, bckm.BckmError)
    assert issubclass(kind, KINDS[kind])
    error = kind("a", ["b"], "c") if kind is UnknownColumnError else kind("a")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_no_other_is_public():
    names = [name for name in dir(bckm) if name.endswith("Error")]
    assert {getattr(bckm, name) for name in names} - {bckm.BckmError} <= set(KINDS)
