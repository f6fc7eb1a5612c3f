"""The lists of entries and the tests that cover them agree."""

from torch_behaviour.coverage import covered, listed, marked


def test_every_mark_names_an_entry_of_a_list():
    entries = listed()
    assert [mark for mark in marked() if mark[:2] not in entries] == []


def test_an_entry_is_covered_or_has_a_reason():
    """Not both: a reason is removed with the test that makes it untrue."""
    assert [entry for entry in covered().values() if bool(entry.tests) == bool(entry.reason)] == []


def test_most_of_what_torch_asserts_holds_here():
    """Of what torch's own tests assert of autograd, nearly everything; a tenth of that in a way of our own."""
    entries = [entry for entry in covered().values() if entry.section <= "L"]
    portable = [entry for entry in entries if entry.code == "P"]
    adapted = [entry for entry in entries if entry.code in "AV"]
    assert (len(portable), len(adapted)) >= (270, 140)
    assert sum(entry.state != "open" for entry in portable) >= 0.99 * len(portable)
    assert sum(entry.state != "open" for entry in adapted) >= 0.9 * len(adapted)
    assert sum(entry.state == "differs" for entry in entries) <= 0.1 * len(entries)
