"""Write logs: who wrote where, and which saved values that makes stale."""

import numpy as np
import pytest

import pullback as pb
from core.helpers import Item, Square, leaf, ones_like
from pullback.core import versions
from pullback.core.versions import Buffer


@pytest.fixture
def block():
    return np.arange(1000.0)


# ------------------------------------------------------------------------------------------------ the log alone
def test_a_fresh_log_makes_nothing_stale(block):
    assert Buffer().version == 0
    assert not Buffer().stale(block, 0)


def test_a_write_makes_stale_what_it_overlaps_and_was_saved_before(block):
    log = Buffer()
    log.wrote(block[10:20])
    assert log.version == 1
    assert log.stale(block, 0)
    assert log.stale(block[19:25], 0)
    assert not log.stale(block[20:30], 0)
    assert not log.stale(block[0:10], 0)
    assert not log.stale(block, 1), "saved after the write"


def test_every_write_counts_the_latest_to_a_region_decides(block):
    log = Buffer()
    log.wrote(block[0:10])
    log.wrote(block[10:20])
    log.wrote(block[0:10])
    assert log.version == 3
    assert log.stale(block[0:10], 2)
    assert not log.stale(block[10:20], 2)
    assert log.stale(block[10:20], 1)


def test_strided_regions_that_interleave_do_not_overlap(block):
    log = Buffer()
    log.wrote(block[::2])
    assert not log.stale(block[1::2], 0)
    assert log.stale(block[::4], 0)
    log.wrote(block[1:100:2])
    assert not log.stale(block[101::2], 0)


def test_two_dimensional_regions():
    grid = np.zeros((20, 30))
    log = Buffer()
    log.wrote(grid[5])
    log.wrote(grid[:, 7])
    assert log.stale(grid[5, 3:4], 0)
    assert log.stale(grid[2:4, 6:9], 0)
    assert not log.stale(grid[6:10, 8:], 0)
    assert not log.stale(grid[:5, :7], 0)


def test_a_write_to_unknown_places_makes_everything_stale(block):
    log = Buffer()
    log.touch()
    assert log.version == 1
    assert log.stale(block[500:501], 0)
    assert not log.stale(block[500:501], 1)


def test_arrays_of_other_libraries_are_one_region():
    class Foreign:
        shape = (2,)

    log = Buffer()
    log.wrote(Foreign())
    assert log.stale(Foreign(), 0)
    assert not log.stale(Foreign(), 1)


def test_a_foreign_array_against_logged_regions(block):
    class Foreign:
        shape = (2,)

    log = Buffer()
    log.wrote(block[:10])
    assert log.stale(Foreign(), 0), "no telling where it lies"


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3)])
def test_regions_without_extent(shape):
    array = np.zeros(shape)
    log = Buffer()
    log.wrote(array)
    assert log.version == 1
    assert log.stale(array, 0) is (array.size > 0), "nothing was written into an empty array"


def test_reversed_views_have_an_extent_too(block):
    log = Buffer()
    log.wrote(block[50:10:-1])
    assert log.stale(block[11:12], 0)
    assert not log.stale(block[10:11], 0)
    assert not log.stale(block[51:60], 0)


def test_small_writes_into_a_long_array_are_told_apart():
    long = np.zeros(100_000)
    log = Buffer()
    for k in range(3000):
        log.wrote(long[k : k + 1])
    assert not log.stale(long[3000:], 0)
    assert log.stale(long[2999:], 0)
    assert not log.stale(long[10:11], 11)
    assert log.stale(long[11:12], 11)
    assert log.stale(long, 2999)
    assert not log.stale(long, 3000)


def test_a_small_write_first_and_a_wide_one_later(block):
    log = Buffer()
    log.wrote(block[:1])
    log.wrote(block)
    log.wrote(block[::2])
    assert log.stale(block[999:], 1)
    assert log.stale(block[998:999], 2)
    assert not log.stale(block[999:], 2)


def test_random_writes_agree_with_a_plain_record(rng):
    """Against the obvious implementation: one counter per element."""
    for _ in range(30):
        size = int(rng.integers(1, 200))
        memory = np.zeros(size)
        latest = np.zeros(size, dtype=int)
        log = Buffer()
        for version in range(1, 30):
            start, stop = sorted(rng.integers(0, size + 1, 2))
            step = int(rng.integers(1, 4))
            log.wrote(memory[start:stop:step])
            latest[start:stop:step] = version
            a, b = sorted(rng.integers(0, size + 1, 2))
            c = int(rng.integers(1, 4))
            since = int(rng.integers(0, version + 1))
            assert log.stale(memory[a:b:c], since) == bool((latest[a:b:c] > since).any())


def test_checking_one_row_is_cheap_after_thousands_of_writes(monkeypatch):
    """Filling a long array row by row must not compare each row with all others."""
    compared = []
    ask = versions.arrays.shares_memory
    monkeypatch.setattr(versions.arrays, "shares_memory", lambda a, b: compared.append(1) or ask(a, b))
    rows = np.zeros((2000, 8))
    log = Buffer()
    for row in rows:
        log.wrote(row)
    for k in range(2000):
        assert log.stale(rows[k], 0)
        assert not log.stale(rows[k], k + 1)
    assert len(compared) < 20 * len(rows)


# ------------------------------------------------------------------------------------------------ through Tensors
def test_every_write_bumps_the_version_recording_or_not():
    a = leaf([1.0, 2.0]) * 1
    assert a._version == 0
    a += 1
    with pb.no_grad():
        a *= 2
    assert a._version == 2


def test_aliases_and_views_share_one_log():
    a = leaf([1.0, 2.0]) * 1
    view, alias = Item.apply(a, index=slice(0, 1)), a.detach()
    with pb.no_grad():
        view += 1
        alias += 1
    assert a._version == view._version == alias._version == 2
    assert a.data._version == 0, ".data is outside the log, as in torch"


def test_a_copy_has_a_log_of_its_own():
    a = leaf([1.0, 2.0]) * 1
    b = a.clone()
    b += 1
    assert (a._version, b._version) == (0, 1)


def test_an_array_is_filled_row_by_row():
    """Each row is computed from the row before, which was saved, then written no more."""
    x = leaf([0.5, 2.0])
    rows = pb.tensor(np.zeros((5, 2)))
    first = Item.apply(rows, index=0)
    first += x
    for k in range(1, 5):
        row = Item.apply(rows, index=k)
        row += Item.apply(rows, index=k - 1) * x
    last = Item.apply(rows, index=4)
    last.backward(ones_like(last))
    np.testing.assert_allclose(x.grad.numpy(), 5 * np.array([0.5, 2.0]) ** 4)


def test_writing_a_row_again_after_it_was_used_is_refused():
    x = leaf([0.5, 2.0])
    rows = pb.tensor(np.zeros((2, 2)))
    row = Item.apply(rows, index=0)
    row += x
    y = Square.apply(Item.apply(rows, index=0))
    row += x
    with pytest.raises(RuntimeError, match="SquareBackward"):
        y.backward(ones_like(y))
