"""The lists of entries and the tests that cover them agree."""

from torch_behaviour.coverage import covered, listed, marked


def test_every_mark_names_an_entry_of_a_list():
    entries = listed()
    assert [mark for mark in marked() if mark[:2] not in entries] == []


#: Sections that are being worked on.
PENDING = frozenset("IJKLM")


def test_an_entry_is_covered_or_has_a_reason():
    """Not both: a reason is removed with the test that makes it untrue."""
    done = [entry for entry in covered().values() if entry.section not in PENDING]
    assert [entry.name for entry in done if not entry.tests and not entry.reason] == []
    assert [entry.name for entry in covered().values() if entry.tests and entry.reason] == []


def test_most_of_what_torch_asserts_holds_here():
    """At least 180 of the portable entries of the first five sections, and 85 of those that need some adaptation."""
    entries = [entry for entry in covered().values() if entry.section in "ABCDE" and entry.tests]
    assert sum(entry.code == "P" for entry in entries) >= 180
    assert sum(entry.code in "AV" for entry in entries) >= 85
