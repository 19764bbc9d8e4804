"""What must not be trained on: duplicates, text of sealed samples, secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

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


def _sealed(texts: Collection[str]) -> Reason:
    """A sealed text shorter than eight words can only be met as a whole question."""
    sealed = [words(text) for text in texts]
    runs = {run for text in sealed for run in _runs(text, SEALED_RUN_WORDS)}
    short = {tuple(text) for text in sealed if 0 < len(text) < SEALED_RUN_WORDS}

    def reason(pair: Pair) -> str | None:
        question, answer = words(pair.user_text), words(pair.response)
        shared = (_runs(question, SEALED_RUN_WORDS) | _runs(answer, SEALED_RUN_WORDS)) & runs
        if shared:
            return f"shares {' '.join(min(shared))!r} with a sealed sample"
        return "asks a sealed sample's question" if tuple(question) in short else None

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
