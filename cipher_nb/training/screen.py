"""What must not be trained on: duplicates, text of sealed samples, secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from cipher_nb.masking import KINDS, Masker
from cipher_nb.training.pairs import Pair

SEALED_RUN_WORDS = 8
SHINGLE_WORDS = 3
NEAR_DUPLICATE = 0.9

Dropped = tuple[str, str]
Reason = Callable[[Pair], str | None]

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case, without punctuation: what all comparisons here are made on."""
    return _WORD.findall(text.lower())


def screen(pairs: Sequence[Pair], sealed_texts: Collection[str]) -> tuple[list[Pair], list[Dropped]]:
    """Return the pairs that may be trained on, in order, and (id, reason) of the others.

    Of duplicates the first stays. Two pairs are near duplicates when their answers have the same words and at least
    0.9 of the three-word shingles of their questions are common; the same question with another answer is none.
    """
    reasons: tuple[Reason, ...] = (_secret, _sealed(sealed_texts), _Duplicates())
    kept, dropped = [], []
    for pair in pairs:
        reason = next((found for check in reasons if (found := check(pair))), None)
        if reason is None:
            kept.append(pair)
        else:
            dropped.append((pair.id, reason))
    return kept, dropped


def _secret(pair: Pair) -> str | None:
    text = "\n".join([*(message["content"] for message in pair.messages), pair.response])
    found = Masker().kinds(text)
    return f"holds {KINDS[found[0]].partition(':')[0]}" if found else None


class Seen:
    """Texts that were seen, to tell what another text repeats of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        seen = [words(text) for text in texts]
        self._runs = {run for text in seen for run in _runs(text, SEALED_RUN_WORDS)}
        self._short = {tuple(text) for text in seen if 0 < len(text) < SEALED_RUN_WORDS}

    def run_in(self, text: str) -> str:
        """Return eight words in a row that `text` repeats, or ""."""
        return " ".join(min(_runs(words(text), SEALED_RUN_WORDS) & self._runs, default=()))

    def is_whole(self, text: str) -> bool:
        """Tell whether `text` is one of the texts that are shorter than eight words."""
        return tuple(words(text)) in self._short


def _sealed(texts: Collection[str]) -> Reason:
    sealed = Seen(texts)

    def reason(pair: Pair) -> str | None:
        shared = sealed.run_in(pair.user_text) or sealed.run_in(pair.response)
        if shared:
            return f"shares {shared!r} with a sealed sample"
        asked = sealed.is_whole(pair.user_text) or sealed.is_whole(pair.messages[-1]["content"])
        return "asks a sealed sample's question" if asked else None

    return reason


class _Duplicates:
    def __init__(self) -> None:
        self.seen: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}

    def __call__(self, pair: Pair) -> str | None:
        question = words(pair.question)
        same_answer = self.seen.setdefault(tuple(words(pair.response)) or (pair.response,), [])
        for other, earlier in same_answer:
            if question == earlier:
                return f"duplicate of {other}"
            if _jaccard(_runs(question, SHINGLE_WORDS), _runs(earlier, SHINGLE_WORDS)) >= NEAR_DUPLICATE:
                return f"near duplicate of {other}"
        same_answer.append((pair.id, question))
        return None


def _runs(text: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(text[start : start + length]) for start in range(len(text) - length + 1)}


def _jaccard(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> float:
    return len(left & right) / len(left | right) if left and right else 0.0
