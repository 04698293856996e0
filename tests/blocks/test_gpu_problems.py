"""Drawn problems on a device without a GPU, against the engine in memory."""

import pytest

from bckm.blocks.gpu import holder
from tests.support.device_problems import check_on_device, device_problem
from tests.support.numpy_passes import DeviceArray, on_a_device


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(200))
def test_as_in_memory(seed, monkeypatch):
    on_a_device(monkeypatch)
    if seed % 3 == 0:
        monkeypatch.setattr(holder, "CHUNK", 100 + seed * 13)
    problem = device_problem(seed)
    check_on_device(problem, DeviceArray(problem.X))
