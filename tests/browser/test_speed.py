"""Many points: pan and zoom stay smooth, and the first picture comes at once."""

from __future__ import annotations

import pytest

from tests.browser import acts
from tests.browser.mock import Mock

pytestmark = pytest.mark.browser
FRAMES = """async () => {
  const waits = [];
  let last = performance.now();
  for (let i = 0; i < 90; i++) {
    bckmMap.view.x += 12 * Math.sin(i / 5);
    bckmMap.view.zoom(1 + 0.02 * Math.sin(i / 9), 400, 400);
    bckmMap.moveView();
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    waits.push(now - last);
    last = now;
  }
  return waits.sort((a, b) => a - b)[45];
}"""
FIRST = """async () => {
  const labels = bckmMap.labels;
  const names = bckmMap.names;
  const began = performance.now();
  bckmMap.setPoints({ ...bckmMap.points });
  bckmMap.setLabels(labels, names);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - began;
}"""


def _many(mocked, n):
    mock = Mock(n=n, k=24)
    mock.problems, mock.seconds = False, 0.1
    page, _ = mocked(mock)
    acts.solved(page, 24)
    return page


def test_20_000_points_move_at_30_frames_a_second(mocked):
    page = _many(mocked, 20_000)
    assert page.evaluate(FRAMES) < 1000 / 30


def test_100_000_points_are_drawn_within_a_second(mocked):
    page = _many(mocked, 100_000)
    assert page.evaluate(FIRST) < 1000
