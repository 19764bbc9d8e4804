"""What a night came to, in sentences, and what the operator can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cipher_nb.report.plain import moment, plain, sentence
from cipher_nb.report.view import NightView, text

TONES = {"PROVEN": "good", "INCONCLUSIVE": "warn", "REGRESSION": "bad", "COULD_NOT_RUN": "bad"}
_OUTCOMES = {
    "archived": "Archived, nothing to decide",
    "nothing": "Why there was nothing to do",
    "stopped": "Why the night stopped",
    "failed": "Why the night failed",
    "died": "The night left no ending",
}
_FIRST_WORDS = {"nothing": "Nothing to learn", "stopped": "Stopped", "failed": "Could not run", "died": "No ending"}


@dataclass(frozen=True)
class Headline:
    """The verdict first, then the rest of the sentence; `tone` is good, warn, bad or ""."""

    verdict: str
    sentence: str
    tone: str


@dataclass(frozen=True)
class Command:
    """A command to copy, under the name of the button it stands for, and what it does."""

    command: str
    note: str
    label: str = ""


@dataclass(frozen=True)
class DecisionText:
    """The changelog as it was published, and how to answer it."""

    text: str
    commands: Sequence[Command]
    caution: str = ""


@dataclass(frozen=True)
class Outcome:
    """Why there is nothing to decide, and what to do next."""

    heading: str
    paragraphs: Sequence[str]
    commands: Sequence[Command]


def headline(view: NightView) -> Headline:
    """Return the night's own headline, taken apart at its verdict; a night without one gets a plain one."""
    verdict, colon, rest = text(view.night, "headline").partition(": ")
    if not colon:
        verdict = view.verdict or _FIRST_WORDS.get(view.status, "Finished")
        rest = text(view.night, "headline") or _without_words(view)
    return Headline(plain(verdict, 40), plain(rest, 400), TONES.get(verdict, ""))


def _without_words(view: NightView) -> str:
    last = view.finished[-1] if view.finished else ""
    return f"the night got as far as {last}" if last else "no stage of the night was finished"


def eyebrow(view: NightView) -> str:
    """Return which night this is, for the line above the headline."""
    when = moment(text(view.night, "finished"))
    parts = (plain(text(view.night, "workspace"), 80), f"night {plain(view.run_id, 80)}", when)
    return " · ".join(part for part in parts if part)


def decision(view: NightView) -> DecisionText | None:
    """Return what to answer and how, or None when no adapter of this night waits for an answer."""
    ref = plain(text(view.changelog, "ref"), 120)
    if not ref or text(view.stage, "status") != "staged" or text(view.changelog, "status") != "pending":
        return None
    run_id = plain(text(view.changelog, "id"), 100)
    unproven = text(view.changelog, "verdict") == "INCONCLUSIVE"
    return DecisionText(
        text=plain(text(view.changelog, "text"), 2000),
        commands=(
            Command(f"cipher-nb apply {ref}", "serve the new adapter, and prove that it answers", "APPLY"),
            Command(f"cipher-nb review {run_id}", "look at this night again", "REVIEW"),
            Command(f"cipher-nb skip {ref}", "keep what is served; the adapter is archived", "SKIP"),
        ),
        caution="The gate could not prove this adapter better, so APPLY asks a second time." if unproven else "",
    )


def outcome(view: NightView) -> Outcome | None:
    """Return why there is nothing to decide and what to do next, or None for a night that staged an adapter."""
    if view.status not in _OUTCOMES:
        return None
    return Outcome(_OUTCOMES[view.status], tuple(filter(None, _reasons(view))), _next(view))


def _reasons(view: NightView) -> Sequence[str]:
    if view.status == "archived":
        kept = plain(text(view.battery, "production"), 80) or "what it was"
        fate = f"The adapter {plain(view.adapter, 80)} was set aside and stays archived. Production is still {kept}."
        return (sentence(text(view.stage, "reason")), fate)
    if view.status == "died":
        return ("Either it still runs, or it was killed, or the machine went down under it. Nothing that it began "
                "was put before you, and what is served was not touched.",)  # fmt: skip
    served = "What is served was not touched." if view.status in ("stopped", "failed") else ""
    return (sentence(text(view.night, "reason")) or "The night gave no reason.", served)


def _next(view: NightView) -> Sequence[Command]:
    first = view.unfinished[0] if view.unfinished else ""
    resume = Command("cipher-nb night", f"goes on with {first}, within 24 hours; later it begins anew")
    return {
        "archived": (
            Command("cipher-nb adapters", "lists every adapter and why it was archived"),
            Command("cipher-nb night", "tries again; it trains from the base, never from this adapter"),
        ),
        "nothing": (
            Command("cipher-nb state --since 24h", "shows what the night had to work with"),
            Command("cipher-nb night --since 72h", "looks further back"),
            Command("cipher-nb task INTENT", "verified and approved work is what the next night learns from"),
        ),
        "stopped": (resume,),
        "failed": (
            Command("cipher-nb doctor", "says what is wrong with the machine and how to mend it"),
            Command("cipher-nb night", "begins a new night"),
        ),
        "died": (Command("cipher-nb night status", "tells whether it still runs"), resume),
    }[view.status]
