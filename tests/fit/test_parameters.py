"""The table of parameters says what functions, engines and files do."""

import inspect
import re

import pytest

import bckm
from bckm.assign import ENGINES
from bckm.fit.parameters import PARAMETERS, SETTINGS, documented, read_setting
from bckm.fit.seeding import SEEDINGS
from bckm.metric.named import METRICS

DOORS = (bckm.kmeans, bckm.assign_to, bckm.ConstrainedKMeans)


def test_choices_are_what_there_is():
    assert PARAMETERS["solver"].choices == ("auto", *ENGINES)
    assert PARAMETERS["metric"].choices == (*METRICS, "learned")
    assert PARAMETERS["init"].choices == tuple(SEEDINGS)


@pytest.mark.parametrize("door", DOORS)
def test_defaults_and_docstrings_are_those_of_the_table(door):
    signature = inspect.signature(door).parameters
    for name in PARAMETERS.keys() & signature.keys():
        assert signature[name].default == PARAMETERS[name].default, name
    section = re.search(r"Parameters\n *-+\n(.*?)\n\n *(Returns|Attributes)\n", door.__doc__, re.S)
    described = re.findall(r"^ *(\w+(?:, \w+)*) : ", section[1], re.M)
    assert [name for entry in described for name in entry.split(", ")] == list(signature)


def test_function_and_estimator_take_all_settings():
    for door in (bckm.kmeans, bckm.ConstrainedKMeans):
        assert {setting.name for setting in SETTINGS} <= inspect.signature(door).parameters.keys()


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_take_their_default_and_choices_and_nothing_strange(setting):
    for value in (setting.default, *setting.choices):
        assert read_setting(setting.name, value) == value
    for wrong in ("what", {}, -0.5, True):
        with pytest.raises(ValueError, match=f"^{setting.name} (must be|has shape) "):
            read_setting(setting.name, wrong)


def test_without_docstrings():
    """As with python -OO."""

    def bare(solver="auto"):
        pass

    assert documented(bare).__doc__ is None
