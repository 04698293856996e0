"""A table of 300 customers with all that can be awkward, and a way to run commands."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bckm.cli import main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)

    def call(*args: object, stdin: bytes | None = None) -> Answer:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stopped:
            main([str(one) for one in args])
        found = capsys.readouterr()
        return Answer(stopped.value.code, found.out, found.err)

    return call


@pytest.fixture
def customers(tmp_path) -> Path:
    path = tmp_path / "customers.csv"
    rng = np.random.default_rng(7)
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["customer", "name", "x_km", "y_km", "kg", "gender", "household", "income"])
        for row in range(300):
            name = ["Müller, Jürgen", "=1+1", 'O"Brien', "Łukasz"][row % 4]
            x, y = rng.normal(0, 5, 2)
            house = f"h{row // 3}" if row < 60 else ""
            income = "" if row % 10 == 3 else str(1000 + row)
            kg = int(rng.integers(1, 30))
            cells = [f"{x:.3f}", f"{y:.3f}", kg, "fm"[row % 2], house, income]
            writer.writerow([f"c{row:03d}", name, *cells])
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))
