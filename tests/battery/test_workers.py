import threading
import time

import pytest

from cipher_nb.battery.workers import share_out


@pytest.fixture
def in_step():
    """Return what two threads do item by item, each waiting until the other one has an item as well."""
    both = threading.Barrier(2)

    def do(item: str) -> tuple[str, int]:
        both.wait(30)
        return item, threading.get_ident()

    return do


def first_letter(item: str) -> str:
    return item[0]


def test_what_is_alike_is_done_by_one_thread_in_order_and_taken_by_the_caller(in_step):
    takers, seen = set(), []

    def take(result: tuple[str, int]) -> None:
        takers.add(threading.get_ident())
        seen.append(result)

    share_out(["a1", "a2", "a3", "b1", "b2", "b3"], in_step, alike=first_letter, workers=2, take=take)
    assert takers == {threading.get_ident()}
    for letter in "ab":
        assert [item for item, _ in seen if item[0] == letter] == [letter + number for number in "123"]
        assert len({thread for item, thread in seen if item[0] == letter}) == 1
    assert len({thread for _, thread in seen}) == 2


def test_a_thread_with_nothing_left_to_begin_helps_where_the_most_is_left(in_step):
    seen: list[tuple[str, int]] = []
    share_out(["a1", *(f"b{n}" for n in range(9))], in_step, alike=first_letter, workers=2, take=seen.append)
    assert sorted(item for item, _ in seen) == ["a1", *(f"b{n}" for n in range(9))]
    helper = next(thread for item, thread in seen if item == "a1")
    assert sum(thread == helper for item, thread in seen if item[0] == "b") == 4


def test_nothing_to_do_is_done_at_once():
    share_out([], str, alike=first_letter, workers=4, take=pytest.fail)


def test_an_error_is_raised_and_what_was_not_begun_stays_undone():
    done, taken = [], []

    def do(item: int) -> int:
        if item == 2:
            raise ZeroDivisionError
        done.append(item)
        return item

    with pytest.raises(ZeroDivisionError):
        share_out([0, 1, 2, 3, 4, 5], do, alike=lambda item: item < 4, workers=1, take=taken.append)
    assert (done, taken) == ([0, 1], [0, 1])


def test_an_error_of_the_taker_ends_the_work_too():
    done = []

    def do(item: int) -> int:
        time.sleep(0.2)
        done.append(item)
        return item

    def take(_: int) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        share_out(range(100), do, alike=str, workers=1, take=take)
    assert len(done) < 50
