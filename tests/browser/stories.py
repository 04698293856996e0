"""Files as a planner and a school office have them: with titles, sums, gaps and commas."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

FIRST = ("Ada", "Jörg", "Zoë", "Mehmet", "Åsa", "Renée", "Ümit", "Bo", "Çiğdem", "Łukasz")


def stops() -> tuple[bytes, bytes]:
    """180 stops in Excel under a title, one weight missing and a row of sums; last week's plan."""
    import xlsxwriter

    draw = np.random.default_rng(7)
    towns = np.column_stack([draw.uniform(52.3, 52.7, 8), draw.uniform(13.1, 13.8, 8)])
    town = draw.integers(8, size=180)
    places = towns[town] + draw.normal(0, 0.02, (180, 2))
    kg = draw.integers(8, 50, 180)
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Tour")
        sheet.write(0, 0, "Tour list, week 47")
        sheet.write(1, 0, "made by the office")
        sheet.write_row(3, 0, ["Stop", "Customer", "Latitude", "Longitude", "kg", "Household"])
        for i in range(180):
            house = f"H{i // 2}" if i < 24 else ""
            weight: Any = "n/a" if i == 17 else int(kg[i])
            row = [
                f"S-{i + 1:03}",
                f"{FIRST[i % 10]} & Sons {i}",
                *places[i].round(5),
                weight,
                house,
            ]
            sheet.write_row(4 + i, 0, row)
        sheet.write_row(184, 0, ["Total", "", "", "", int(kg.sum() - kg[17]), ""])
    week = [
        "Stop;Van",
        *(f"S-{i + 1:03};Van {1 + min(town[i], 7)}" for i in range(178)),
        "S-999;Van 1",
    ]
    return file.getvalue(), "\n".join(week).encode()


def pupils() -> bytes:
    """150 pupils as a German Excel saves CSV: semicolons, decimal commas, cp1252."""
    draw = np.random.default_rng(8)
    lines = ["Schüler-Nr;Name;Geschlecht;Note;Lesetest;Freund;Streit"]
    friends = draw.permutation(150)[:80].reshape(-1, 2)
    friend = {int(a): f"K{b + 1:03}" for a, b in friends}
    names = ("Jörg", "Zoë", "Renée", "Åsa", "Bärbel")
    for i in range(150):
        grade = f"{draw.uniform(1, 5):.1f}".replace(".", ",")
        quarrel = "Q1" if i in (4, 40, 90) else ""
        gender = "w" if draw.random() < 0.5 else "m"
        test = draw.integers(20, 100)
        lines.append(
            f"K{i + 1:03};{names[i % 5]} {i};{gender};{grade};{test};{friend.get(i, '')};{quarrel}"
        )
    return "\r\n".join(lines).encode("cp1252")
