"""The lists of entries and the tests that cover them agree."""

from torch_behaviour.coverage import covered, listed, marked


def test_every_mark_names_an_entry_of_a_list():
    entries = listed()
    assert [mark for mark in marked() if mark[:2] not in entries] == []


def test_an_entry_is_covered_or_has_a_reason():
    """Not both: a reason is removed with the test that makes it untrue."""
    assert [entry for entry in covered().values() if entry.tests and entry.reason] == []
