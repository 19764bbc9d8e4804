"""pytest, with --tb=auto, long, short, line, native or no, quiet or not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile, takewhile
from textwrap import dedent

from cipher_nb.sandbox.failures.claims import expected_and_found
from cipher_nb.sandbox.failures.failure import Failure, Place, innermost, lines_of
from cipher_nb.sandbox.failures.tracebacks import read_trace

_SECTION = re.compile(r"^=+ (.+?) =+$")
_TITLE = re.compile(r"^_+ (?=[^_ ])(.+?) _+$")
_SUMMARY_TITLE = "short test summary info"
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) ([^\s(].*?\.\w+(?:::.*?)?)(?: - (.*))?$")
_PLACE = re.compile(r"^([^\s:][^:]*\.\w+|<[^>]+>):(\d+)(?::(?: (.*))?)?$")
_PHASE = re.compile(r"^ERROR (?:at (?:setup|teardown) of|collecting) ")
_NOT_RAISED = re.compile(r"^Failed: DID NOT RAISE (?:<class ')?([\w.]+)")
_SOURCE = re.compile(r'^File "(.+)", line (\d+)$')
_SHORT_CLAIM_CHARS = 80
_DETAIL_LINES = 6
_UNTELLING = ("?", "+  ", "Use -v", "Full diff", "...", "Omitting ", "Skipping ")


def read_pytest(output: str) -> tuple[Failure, ...]:
    """Return the failures that pytest reports; those of which it shows only the name are told by that."""
    lines = output.splitlines()
    summary = dropwhile(lambda line: _SUMMARY_TITLE not in line, lines)
    named = [match for line in summary if (match := _SUMMARY.match(line))]
    ids = [match[1] for match in named]
    failed = [match[1] for match in named if match[0].startswith("FAILED")]
    told: list[Failure] = []
    for section in _sections(lines):
        blocks = list(_blocks(section))
        told += [_with_id(_from_block(title, block), ids) for title, block in blocks] or _from_lines(section, failed)
    if not told and not named and any(map(_PLACE.match, lines)) and _last_evidence(lines):
        return (_from_block("", lines),)  # conftest.py could not be imported
    known = {failure.test or failure.file for failure in told}
    return (*told, *(_from_summary(match) for match in named if match[1] not in known))


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    for start, line in enumerate(lines):
        if (title := _SECTION.match(line)) and title[1] in ("FAILURES", "ERRORS"):
            yield list(takewhile(lambda line: not _SECTION.match(line), lines[start + 1 :]))


def _blocks(section: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    titles = [(number, found[1]) for number, line in enumerate(section) if (found := _TITLE.match(line))]
    ends = [*(number for number, _ in titles[1:]), len(section)]
    for (start, title), end in zip(titles, ends, strict=False):
        yield title, list(takewhile(lambda line: not line.startswith("-----"), section[start + 1 : end]))


def _from_block(title: str, block: Sequence[str]) -> Failure:
    trace = read_trace(block)
    if trace:  # --tb=native
        place, evidence = innermost(trace.places), list(trace.message)
    else:
        place, evidence = innermost(_places(block)), _last_evidence(block)
    return replace(_judge(evidence, place), test=_PHASE.sub("", title))


def _places(block: Sequence[str]) -> Iterator[Place]:
    """Yield the places of a trace: the statement stands before (long) or after (short) its file and line."""
    marked = ""
    for line, following in zip(block, [*block[1:], ""], strict=False):
        if not marked and line.startswith((">", "E ")):
            marked = line[1:] if line.startswith(">") else " "
        if place := _PLACE.match(line):
            is_short = (place[3] or "").startswith("in ")
            yield Place(place[1], int(place[2]), (following if is_short else marked).strip())
            marked = ""


def _last_evidence(block: Sequence[str]) -> list[str]:
    """Return the last run of lines that pytest marks with E: earlier ones belong to exceptions that led to it."""
    runs: list[list[str]] = [[]]
    for line in block:
        if line == "E" or line.startswith("E "):
            runs[-1].append(line[1:])
        elif runs[-1]:
            runs.append([])
    return next((run for run in reversed(runs) if run), [])


def _judge(evidence: Sequence[str], place: Place) -> Failure:
    lines = dedent("\n".join(evidence)).splitlines() or [""]
    words = [line.strip().removeprefix("AssertionError: ") for line in lines]
    if source := _place_in_source(words[0]):
        lines = [line.strip() for line in lines[1:] if line.strip("^~ ")]
        place, words = source, lines or [""]
    failure = Failure(file=place.file, line=place.line)
    own_words = takewhile(lambda word: not word.startswith("assert "), words)
    claim = next((word for word in words if word.startswith("assert ")), "")
    where = [word.lstrip("+ ") for word in words if word.startswith("+  ")]
    if not claim:
        raised = _NOT_RAISED.match(words[0])
        expected, found = (raised[1], "no exception") if raised else ("", "")
        message = lines_of(place.statement, *([] if raised else [line for line in lines if line.strip()]))
        return replace(failure, expected=expected, found=found, message=message)
    details = _details(words, claim, where)
    expected, found = expected_and_found(_in_full(claim, details).removeprefix("assert "), statement=place.statement)
    message = lines_of(place.statement, *own_words, *where, *details)
    return replace(failure, expected=expected, found=found, message=message)


def _place_in_source(word: str) -> Place | None:
    """Return the place that a SyntaxError names: the trace ends where the file was imported."""
    found = _SOURCE.match(word)
    return Place(found[1], int(found[2])) if found else None


def _details(words: Sequence[str], claim: str, where: Sequence[str]) -> list[str]:
    """Return pytest's own comparison of two values that are too long to be read side by side."""
    if len(claim) <= _SHORT_CLAIM_CHARS and "..." not in claim:
        return []
    after = words[words.index(claim) + 1 :]
    return [word for word in after if word and not word.startswith(_UNTELLING)][: _DETAIL_LINES - len(where)]


def _in_full(claim: str, details: list[str]) -> str:
    """Return the claim with the two sides as pytest's comparison has them, and take them out of the details.

    pytest shortens a long text in the claim itself; of two that differ in one line it prints both lines below.
    """
    right = [line for line in details if line.startswith("- ")]
    left = [line for line in details if line.startswith("+ ")]
    if "..." not in claim or " == " not in claim or (len(left), len(right)) != (1, 1):
        return claim
    details[:] = [line for line in details if line not in (*left, *right)]
    return f"{left[0][2:]!r} == {right[0][2:]!r}"


def _with_id(failure: Failure, ids: Sequence[str]) -> Failure:
    """Give the failure its node id, by which it can be run again."""
    for name in ids:
        if failure.test in (name, name.partition("::")[2].replace("::", ".")):
            return replace(failure, test=name, file=failure.file or name.partition("::")[0])
    return failure


def _from_lines(section: Sequence[str], failed: Sequence[str]) -> list[Failure]:
    """Read --tb=line: a line each, from pytest 9 on with its evidence above."""
    found: list[Failure] = []
    evidence: list[str] = []
    for line in section:
        place = _PLACE.match(line)
        if place and place[3]:
            text = evidence or [place[3]]
            found.append(_judge(text, Place(place[1], int(place[2]))))
        if place or line.startswith("-----"):
            evidence = [] if place else [*evidence, ""]
        elif line.startswith("E "):
            evidence = [" " + line[1:]]
        elif evidence and evidence[-1] != "":
            evidence.append(line)
    if len(found) != len(failed):
        return found
    return [replace(failure, test=name) for failure, name in zip(found, failed, strict=True)]


def _from_summary(match: re.Match[str]) -> Failure:
    file = match[1].partition("::")[0]
    return replace(_judge([match[2] or ""], Place(file)), test=match[1])
