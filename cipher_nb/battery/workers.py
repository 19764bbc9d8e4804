"""Several threads that share out what is to be done: neighbours that are alike are done by one of them, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from queue import SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Failed:
    error: BaseException


def share_out(
    items: Iterable[Item],
    do: Callable[[Item], Result],
    *,
    alike: Callable[[Item], object],
    workers: int,
    take: Callable[[Result], None],
) -> None:
    """Do every item with `workers` threads; the caller's own thread hands each result to `take` as it comes.

    A thread stays with what is `alike`, then begins what nobody has begun; where all is begun it helps with what has
    the most left. What `do` or `take` raises is raised here once the threads are done with the items in hand; the
    others stay undone.
    """
    shares, results = _Shares(items, alike), SimpleQueue[Result | _Failed]()
    count = shares.left()

    def work() -> None:
        for item in shares.of_a_thread():
            try:
                results.put(do(item))
            except BaseException as error:  # noqa: BLE001
                shares.drop()
                results.put(_Failed(error))

    with ThreadPoolExecutor(workers, thread_name_prefix="battery") as pool:
        for _ in range(workers):
            pool.submit(work)
        try:
            for _ in range(count):
                result = results.get()
                if isinstance(result, _Failed):
                    raise result.error
                take(result)
        finally:
            shares.drop()


class _Shares(Generic[Item]):
    """What is left to do, in groups of neighbours that are alike."""

    def __init__(self, items: Iterable[Item], alike: Callable[[Item], object]) -> None:
        self._groups = [deque(group) for _, group in groupby(items, key=alike)]
        self._unbegun = deque(self._groups)
        self._lock = threading.Lock()

    def left(self) -> int:
        return sum(map(len, self._groups))

    def of_a_thread(self) -> Iterator[Item]:
        """Yield what one thread is to do, item by item."""
        group: deque[Item] = deque()
        while True:
            with self._lock:
                group = group or self._another()
                if not group:
                    return
                item = group.popleft()
            yield item

    def drop(self) -> None:
        """Leave undone what is not begun."""
        with self._lock:
            for group in self._groups:
                group.clear()

    def _another(self) -> deque[Item]:
        while self._unbegun:
            group = self._unbegun.popleft()
            if group:
                return group
        return max(self._groups, key=len, default=deque())
