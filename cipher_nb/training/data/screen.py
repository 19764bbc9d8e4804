"""What must not be trained on: duplicates, text of sealed samples, secrets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from cipher_nb.masking import KINDS, Masker
from cipher_nb.training.data.duplicates import Duplicates, runs, words
from cipher_nb.training.data.pairs import Pair

SEALED_RUN_WORDS = 8

Dropped = tuple[str, str]
Reason = Callable[[Pair], str | None]


class Screen:
    """Tells of pairs, asked one after the other, which may not be trained on and why.

    Of duplicates the first stays. Two pairs are near duplicates when their answers have the same words and at least
    0.9 of the three-word shingles of their questions are common; the same question with another answer is none.
    `secrets` are the operator's own patterns. `likely` are pairs that will be asked about: to know them makes it fast.
    """

    def __init__(
        self, sealed_texts: Collection[str], *, secrets: Sequence[str] = (), likely: Sequence[Pair] = ()
    ) -> None:
        self._reasons: tuple[Reason, ...] = (_empty, _secret(secrets), _sealed(sealed_texts), Duplicates(likely))

    def reason(self, pair: Pair) -> str | None:
        """Return why `pair` may not be trained on; None where it may, and then what is like it may not."""
        return next((found for check in self._reasons if (found := check(pair))), None)


def screen(
    pairs: Sequence[Pair], sealed_texts: Collection[str], *, secrets: Sequence[str] = ()
) -> tuple[list[Pair], list[Dropped]]:
    """Return the pairs that may be trained on, in order, and (id, reason) of the others; see `Screen`."""
    asked = Screen(sealed_texts, secrets=secrets, likely=pairs)
    reasons = [(pair, asked.reason(pair)) for pair in pairs]
    kept = [pair for pair, reason in reasons if reason is None]
    return kept, [(pair.id, reason) for pair, reason in reasons if reason is not None]


def _empty(pair: Pair) -> str | None:
    if not pair.response.strip():
        return "its answer is empty"
    return None if pair.question.strip() else "its question is empty"


def _secret(patterns: Sequence[str]) -> Reason:
    masker = Masker(patterns)

    def reason(pair: Pair) -> str | None:
        found = masker.kinds("\n".join([*(message["content"] for message in pair.messages), pair.response]))
        return f"holds {KINDS[found[0]].partition(':')[0]}" if found else None

    return reason


class Seen:
    """Texts that were seen, to tell what another text repeats of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        seen = [words(text) for text in texts]
        self._runs = {run for text in seen for run in runs(text, SEALED_RUN_WORDS)}
        self._short = {text for text in seen if 0 < len(text) < SEALED_RUN_WORDS}

    def run_in(self, text: str) -> str:
        """Return eight words in a row that `text` repeats, or ""."""
        said = words(text)
        if self._runs.isdisjoint(runs(said, SEALED_RUN_WORDS)):
            return ""
        return " ".join(min(self._runs.intersection(runs(said, SEALED_RUN_WORDS))))

    def is_whole(self, text: str) -> bool:
        """Tell whether `text` is one of the texts that are shorter than eight words."""
        return words(text) in self._short


def _sealed(texts: Collection[str]) -> Reason:
    sealed = Seen(texts)

    def reason(pair: Pair) -> str | None:
        shared = sealed.run_in(pair.user_text) or sealed.run_in(pair.response)
        if shared:
            return f"shares {shared!r} with a sealed sample"
        asked = sealed.is_whole(pair.user_text) or sealed.is_whole(pair.messages[-1]["content"])
        return "asks a sealed sample's question" if asked else None

    return reason
