"""What the trials come to, as one paragraph: which default, and what cannot be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import mean

from cipher_nb.night.trials.evidence import Finding, Findings
from cipher_nb.night.trials.plan import Trial, rate_name
from cipher_nb.report.plain import plain, signed
from cipher_nb.report.trials import failed_words, over_seeds, with_interval
from cipher_nb.report.words import Sentence

INSTEAD = {
    "replay": {"file": "Replay from the file", "base": "Replay that the base answered"},
    "load_in_4bit": {"yes": "NF4 weights", "no": "Weights as served", "auto": "Weights chosen by size"},
    "rejections": {"kto": "Learning from rejections", "ignore": "Ignoring rejections"},
}


def trials_verdict(findings: Findings) -> Sentence:
    """Return which setting to take, whether the SOP's holds, and what the answers at this size cannot tell apart."""
    return Sentence(" ".join(filter(None, _sentences(findings))))


def _sentences(findings: Findings) -> Iterator[str]:
    sop, other = findings.finding(findings.plan.sop), findings.best_other()
    if sop is None:
        yield "The SOP's setting was not measured, so nothing can be said about it."
    else:
        yield _default(findings, sop.setting, other)
        yield _cost(findings, sop, findings.finding(other) if other else None)
        yield _told_apart(findings, sop.setting)
    yield from _averages(findings)
    if sop is not None:
        yield from _over_seeds(findings, sop, other)
        yield from (_change(findings, trial) for trial in findings.plan.changes()[1:])
    samples = max((len(scores) for scores in findings.base.values()), default=0)
    yield (
        f"All intervals are 95% and about the questions ({samples} sealed samples a category, the same for all); "
        "another seed or other pairs can move a figure further."
    )
    failed = failed_words(findings)
    if failed:
        yield f"Not done: {'; '.join(failed)}."


def _default(findings: Findings, sop: Trial, other: Trial | None) -> str:
    found = findings.between(other, sop) if other else None
    if other is None or found is None:
        return f"Only the SOP's setting ({sop.name}) was tried, so nothing speaks for another one."
    difference = f"{with_interval(found)} over all categories"
    if found.word == "better":
        return f"Take {other.name} as the default: it is better than the SOP's {sop.name}, {difference}."
    if found.word == "worse":
        return f"The SOP's default ({sop.name}) holds: the best other setting, {other.name}, is worse, {difference}."
    widest = max(abs(found.lower), abs(found.upper))
    return (
        f"The SOP's default ({sop.name}) holds, for want of proof against it: the best other setting, {other.name}, "
        f"differs by {difference}, and at this size a true difference of up to {widest:.2f} is not ruled out."
    )


def _cost(findings: Findings, sop: Finding, other: Finding | None) -> str:
    rule = f"by the gate's rule it would {_not(sop)}pass"
    if other and other.passes_rule != sop.passes_rule:
        rule += f", {other.setting.name} would {_not(other)}pass"
    return (
        f"With the SOP's {plain(findings.target, 40)} gains {with_interval(sop.target)}; the other categories change "
        f"by {with_interval(sop.elsewhere)}, the worst of them, {plain(sop.worst_category, 40)}, by "
        f"{with_interval(sop.worst)}; {rule}."
    )


def _not(found: Finding) -> str:
    return "" if found.passes_rule else "not "


def _told_apart(findings: Findings, sop: Trial) -> str:
    others = [each for each in findings.grid_settings() if each != sop and findings.of(each)]
    if len(others) < 2:  # the best other one, of which the first sentence tells
        return ""
    found = {each: findings.between(each, sop, share=len(others)) for each in others}
    names = {
        word: [each.name for each, change in found.items() if change and change.word == word]
        for word in ("better", "worse", "")
    }
    proven = [f"{', '.join(names[word])} {_are(names[word])} {word}" for word in ("better", "worse") if names[word]]
    rest = f"{len(names[''])} of the {len(others)} other settings cannot be told apart from it"
    return f"Over all categories {'; '.join([*proven, rest])}."


def _averages(findings: Findings) -> Iterator[str]:
    grid = [found for each in findings.grid_settings() if (found := findings.finding(each))]
    rates, shares = findings.plan.rates, findings.plan.replay_shares
    if len(rates) > 1:
        told = _means(grid, rates, lambda found: found.setting.lr, lambda found: found.target.delta, rate_name)
        yield f"By rate, the mean gain on {plain(findings.target, 40)} is {told}."
    if len(shares) > 1:
        told = _means(
            grid, shares, lambda found: found.setting.replay_share, lambda found: found.elsewhere.delta, "{:.0%}".format
        )
        yield f"By share of replay, the mean change elsewhere is {told}."


def _means(
    grid: Sequence[Finding],
    values: Sequence[float],
    of: Callable[[Finding], float],
    figure: Callable[[Finding], float],
    name: Callable[[float], str],
) -> str:
    groups = {value: [figure(found) for found in grid if of(found) == value] for value in values}
    return ", ".join(f"{signed(mean(each))} ({name(value)})" for value, each in groups.items() if each)


def _over_seeds(findings: Findings, sop: Finding, other: Trial | None) -> Iterator[str]:
    found = [each for each in (sop, findings.finding(other) if other else None) if each and len(each.seeds) > 1]
    told = [
        f"{each.setting.name} gains {over_seeds(each.target)} and elsewhere changes by {over_seeds(each.elsewhere)}"
        for each in found
    ]
    if told:
        yield f"Over {len(found[0].seeds)} seeds {'; '.join(told)}."


def _change(findings: Findings, trial: Trial) -> str:
    sop = findings.plan.sop
    name = next(name for name in INSTEAD if getattr(trial, name) != getattr(sop, name))
    target, elsewhere = (findings.between(trial, sop, of=of) for of in ("target", "elsewhere"))
    if target is None or elsewhere is None:
        return ""
    words = [
        f"{each.word} {where}" for where, each in (("on the target", target), ("elsewhere", elsewhere)) if each.word
    ]
    return (
        f"{INSTEAD[name][getattr(trial, name)]} instead of {_small(INSTEAD[name][getattr(sop, name)])}: "
        f"{with_interval(target)} on the target, {with_interval(elsewhere)} elsewhere, "
        f"{' and '.join(words) or 'not to be told apart'}."
    )


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"
