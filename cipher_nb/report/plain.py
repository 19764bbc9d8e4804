"""Untrusted text made harmless to look at: bounded, and with nothing in it that the eye cannot see."""

from __future__ import annotations

from datetime import UTC, datetime

from cipher_nb.records import parse_ts

MINUS = "\N{MINUS SIGN}"
LIMITS = (0.0, 0.05)


def plain(value: object, limit: int = 400) -> str:
    """Return `value` as text of at most about `limit` characters.

    Characters that print nothing (control, bidi, zero width) are spelled out as escapes; line breaks and tabs stay.
    The text still has to be escaped where it becomes HTML.
    """
    text = value if isinstance(value, str) else "" if value is None else str(value)
    rest = len(text) - limit
    shown = "".join(_visible(char) for char in text[:limit])
    return f"{shown} … ({rest:,} more characters)" if rest > 0 else shown


def one_line(value: object, limit: int = 60) -> str:
    """Return `value` as one plain line of at most `limit` characters; of a longer text both ends stay, "…" between."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    ends = text if len(text) <= 2 * limit else f"{text[:limit]}…{text[-limit:]}"
    line = " ".join("".join(map(_visible, ends)).split())
    if len(line) <= limit:
        return line
    tail = limit // 2
    return f"{line[: limit - tail - 1].rstrip()}…{line[-tail:].lstrip()}"


def _visible(char: str) -> str:
    return char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode("ascii")


def sentence(words: str, limit: int = 800) -> str:
    """Return `words` as a plain sentence: a capital first, a full stop last; "" stays ""."""
    shown = plain(words, limit).strip()
    end = "" if not shown or shown.endswith((".", "!", "?")) else "."
    return shown[:1].upper() + shown[1:] + end


def signed(value: float | None) -> str:
    """Return a difference with its sign, `+0.12`, or a dash where there is none.

    Two digits, and three where two would show one of the gate's limits (0 and 0.05) that the value is not on.
    """
    if value is None:
        return "–"
    if value == 0:
        return "0.00"
    blurred = abs(value) not in LIMITS and f"{abs(value):.2f}" in {f"{limit:.2f}" for limit in LIMITS}
    return f"{value:+.{3 if blurred else 2}f}".replace("-", MINUS)


def score(value: float | None) -> str:
    """Return a score from 0 to 1 with two digits, or a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def duration(seconds: float | None) -> str:
    """Return a length of time in the two largest units that matter: `42 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def moment(value: object) -> str:
    """Return a time stamp as a person writes it, `30 November 2026, 02:14 UTC`, or "" for what is none."""
    when = parse_ts(value)
    return f"{when.day} {when:%B %Y, %H:%M} UTC" if when else ""


def seconds_between(start: object, end: object) -> float | None:
    """Return the seconds from one time stamp to another, or None when one of them is none."""
    first, last = parse_ts(start), parse_ts(end)
    return (last - first).total_seconds() if first and last else None


def day(when: datetime) -> str:
    """Return `30 Nov 2026`."""
    when = when.astimezone(UTC)
    return f"{when.day} {when:%b %Y}"
