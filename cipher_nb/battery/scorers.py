"""From an answer to a score: 1 for right, 0 for wrong or rubbish, None where there was no answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from cipher_nb.battery.samples import Sample


def score(sample: Sample, answer: str | None) -> float | None:
    """Return the score of `answer` by the sample's scorer; None (and only None) is unscored."""
    return None if answer is None else SCORERS[sample.scorer](sample.target, answer)


def exact(target: str, answer: str) -> float:
    """Return 1 if the answer's first line is the target, whatever its case, quotes and closing full stop."""
    return float(normalised(answer) == normalised(target))


def regex(target: str, answer: str) -> float:
    """Return 1 if the answer's first line matches the pattern `target` as a whole."""
    return float(re.fullmatch(target, normalised(answer), re.IGNORECASE) is not None)


def json_equal(target: str, answer: str) -> float:
    """Return 1 if the first JSON object or array in the answer equals the target, spacing and key order aside."""
    return float(_canonical(_first_json(answer)) == _canonical(_first_json(target)))


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


def _first_json(text: str) -> object:
    start = re.search(r"[\[{]", text)
    try:
        return _DECODER.raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError):
        return None


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)

SCORERS: Mapping[str, Callable[[str, str], float]] = {
    "exact": exact,
    "choice": exact,
    "regex": regex,
    "json": json_equal,
}
