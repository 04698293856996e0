"""The runner: whatever goes wrong in a case is told, with what repeats it."""

from campaign.runner import look_at, part_of, run

NAME = "tests.campaign.breaking"


def test_all_that_goes_wrong_is_told():
    told = []
    found = run([NAME], 0, tell=lambda tally, seconds: told.append(tally))[NAME]
    wrong = {one["case"]: one["wrong"].strip().splitlines()[-1] for one in found.failures}
    assert wrong[1].startswith("ValueError: drawn")
    assert "no end after 1 s" in wrong[3]
    assert wrong[5] == "the process died"
    assert found.failed == len(wrong) == 3
    assert found.cases == 8
    assert found.counts["cases that go wrong"] == 7
    assert told == [found]


def test_a_case_is_what_its_seed_and_number_say():
    part = part_of(NAME)
    first, again, other = (look_at(part, seed, 1)[1] for seed in (3, 3, 4))
    assert first == again != other
    assert look_at(part, 3, 0)[1] is None
