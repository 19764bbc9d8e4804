"""From an answer to a score: 1 for right, 0 for wrong or rubbish, None where there was nothing to score."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from cipher_nb.battery.code import RunCode, code_passes
from cipher_nb.battery.json_scorers import json_equal, json_valid
from cipher_nb.battery.samples import Sample, Scorer


def score(sample: Sample, answer: str | None, *, run_code: RunCode | None = None) -> float | None:
    """Return the score of `answer` by the sample's scorer, against the best of its targets; None alone is unscored.

    That is a sample without an answer, and code that could not be run; without `run_code` none can be.
    """
    if answer is None or (sample.scorer == "code" and run_code is None):
        return None
    scores = [_scored(sample.scorer, target, answer, run_code) for target in (sample.target, *sample.other_targets)]
    return None if None in scores else max(found for found in scores if found is not None)


def _scored(scorer: Scorer, target: str, answer: str, run_code: RunCode | None) -> float | None:
    if scorer == "code":
        return code_passes(target, answer, run_code=run_code) if run_code else None
    return SCORERS[scorer](target, answer)


def exact(target: str, answer: str) -> float:
    """Return 1 if the answer is the target, white space at the ends aside."""
    return float(answer.strip() == target.strip())


def same_line(target: str, answer: str) -> float:
    """Return 1 if the answer's first line is the target, whatever its case, quotes and closing full stop."""
    return float(normalised(answer) == normalised(target))


def regex(target: str, answer: str) -> float:
    """Return 1 if the answer's first line matches the pattern `target` as a whole."""
    return float(re.fullmatch(target, normalised(answer), re.IGNORECASE) is not None)


def numeric(target: str, answer: str) -> float:
    """Return 1 if the first number in the answer is the target, to a millionth of it.

    Sign, decimals, commas between thousands and an exponent belong to a number; digits within a word do not.
    """
    wanted, found = first_number(target), first_number(answer)
    return float(wanted is not None and found is not None and math.isclose(wanted, found, rel_tol=1e-6))


def first_number(text: str) -> float | None:
    """Return the first number that `text` writes in digits, or None."""
    found = _NUMBER.search(text)
    return float(found[0].replace(",", "").replace("\u2212", "-")) if found else None


def normalised(answer: str) -> str:
    """Return the first line that holds anything, in lower case, without quotes, backticks and closing full stop."""
    lines = [line.strip() for line in answer.splitlines() if line.strip(" \t`")]
    line = lines[0] if lines else ""
    return " ".join(line.strip(" \t`'\"*").rstrip(".").strip(" \t`'\"*").lower().split())


def choose(choices: Sequence[str], logprobs: Mapping[str, float]) -> str:
    """Return the choice whose distinguishing first tokens are likeliest, or "" if none of them is among `logprobs`.

    A token speaks for a choice if it begins that choice and no other, whatever its case.
    """
    weight = dict.fromkeys(choices, 0.0)
    for token, logprob in logprobs.items():
        text = token.strip().lower()
        fitting = [choice for choice in choices if text and choice.lower().startswith(text)]
        if len(fitting) == 1:
            weight[fitting[0]] += math.exp(logprob)
    best = max(choices, key=weight.__getitem__)
    return best if weight[best] > 0 else ""


_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?"
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:[eE][-+]?[0-9]+)?"
)

SCORERS: Mapping[str, Callable[[str, str], float]] = {
    "exact": exact,
    "normalised": same_line,
    "json": json_equal,
    "schema": json_valid,
    "regex": regex,
    "numeric": numeric,
    "choice": exact,
}
