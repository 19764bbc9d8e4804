"""Progress bars on stderr: for a fetch, for what is counted here, and for a night that runs in other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cipher_nb.night.folder import NightFolder


@contextmanager
def fetching(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar in bytes while a model is fetched; none where it is there already."""
    from tqdm import tqdm

    with ExitStack() as stack:
        bars: list[Any] = []

        def show(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(tqdm(total=total, unit="B", unit_scale=True, desc=f"fetching {name}")))
            bars[0].update(max(0, done - bars[0].n))

        yield show


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the time left while something is counted; what counts at its first call took no time."""
    with ExitStack() as stack:
        bars: list[Any] = []

        def show(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(_bar(title, done, total)))
            bars[0].total = total
            bars[0].update(max(0, done - bars[0].n))

        yield show


class NightBars:
    """Follows the night's own progress file and shows a bar for each step as it comes."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._step = ""

    def __call__(self, folder: NightFolder, notebook: str) -> None:
        from cipher_nb.errors import CipherError
        from cipher_nb.files import read_json

        try:
            seen = read_json(folder.progress)
        except (FileNotFoundError, CipherError):
            return
        self._show(str(seen["stage"]), int(seen["done"]), int(seen["total"]), str(seen["note"]))

    def _show(self, step: str, done: int, total: int, note: str) -> None:
        if step != self._step:
            self.close()
            self._step, self._bar = step, _bar(step, done, total)
        self._bar.total = total
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(max(0, done - self._bar.n))
        self._bar.refresh()

    def close(self) -> None:
        """End the bar that is shown; the step it stood for is over."""
        if self._bar is not None:
            if self._bar.total:
                self._bar.update(max(0, self._bar.total - self._bar.n))
            self._bar.close()
            self._bar = None


def _bar(title: str, done: int, total: int) -> Any:
    from tqdm import tqdm

    return tqdm(desc=title, total=total, initial=done, unit="")
