"""Sentences with a key."""

from __future__ import annotations

import copy
import json
import pickle

from bckm._core.note import Note


def test_a_note_is_a_text_and_keeps_its_key():
    note = Note("2 rows of f.csv are new.", "new", n=2, file="f.csv")
    assert note == "2 rows of f.csv are new."
    assert json.loads(json.dumps([note])) == [note]
    for kept in (pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
        assert type(kept) is Note
        assert (kept, kept.key, kept.values) == (note, "new", {"n": 2, "file": "f.csv"})
