"""What clients send: query parameters, the task header and JSON bodies, checked and made into values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from cipher_nb.errors import ConfigError, RequestError, suggestion
from cipher_nb.night.idle import parse_duration
from cipher_nb.records import parse_ts

MAX_LIMIT = 1000
JUPYTERS_OWN = ("token", "no_track_activity")

Query = Mapping[str, Sequence[str]]
"""The values of each parameter, in the order sent."""


def state_filters(query: Query, now: datetime) -> dict[str, Any]:
    """Return the arguments of `Bus.read_state`; RequestError names the parameter, the value and the way out."""
    _refuse_unknown(query, ("type", "since", "until", "task", "session", "limit"))
    return {
        "type": list(query["type"]) if "type" in query else None,
        "since": _moment("since", query, now),
        "until": _moment("until", query, now),
        "task": _one("task", query),
        "session": _one("session", query),
        "limit": _number("limit", query, default=100),
    }


def learned_limits(query: Query) -> dict[str, int]:
    """Return the arguments of `Workspace.learned`."""
    _refuse_unknown(query, ("min_count", "limit"))
    return {"min_count": _number("min_count", query, default=3), "limit": _number("limit", query, default=15)}


def tasks_limit(query: Query) -> int:
    """Return how many tasks are asked for."""
    _refuse_unknown(query, ("limit",))
    return _number("limit", query, default=100)


def tier(query: Query) -> str | None:
    """Return the tier asked for, or None for the workspace's own."""
    _refuse_unknown(query, ("tier",))
    return _one("tier", query)


def no_parameters(query: Query) -> None:
    _refuse_unknown(query, ())


def task_id(header: str | None) -> str | None:
    """Return the task that `X-Cipher-Task` names, or None for a new one."""
    if header is not None and not re.fullmatch(r"[A-Za-z0-9]{1,64}", header):
        raise RequestError(f"X-Cipher-Task {header!r:.80} is no task id; give 1 to 64 letters and digits")
    return header


def json_object(body: bytes) -> dict[str, Any]:
    """Return the body's JSON object."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"the body is not valid JSON ({error}); send one JSON object") from error
    if not isinstance(value, dict):
        raise RequestError(f"the body is a JSON {type(value).__name__}; send one JSON object")
    return value


def texts(body: bytes, *, required: Sequence[str] = (), optional: Sequence[str] = ()) -> dict[str, str]:
    """Return the texts of a JSON object: all `required` ones, and "" for each of `optional` that is not there.

    No body at all is an empty object.
    """
    value, known = (json_object(body) if body else {}), (*required, *optional)
    for name, text in value.items():
        if name not in known:
            way_out = suggestion(name, known) if known else "this endpoint takes an empty object"
            raise RequestError(f"{name} = {text!r:.80} is unknown; {way_out}")
        if not isinstance(text, str):
            raise RequestError(f"{name} = {text!r:.80} is no text; give one")
    for name in required:
        if not value.get(name, "").strip():
            raise RequestError(f"{name} is missing or empty; give a text")
    return {name: value.get(name, "") for name in known}


def _refuse_unknown(query: Query, known: Sequence[str]) -> None:
    for name in query:
        if name not in known and name not in JUPYTERS_OWN:
            way_out = suggestion(name, known) if known else "this endpoint takes no parameters"
            raise RequestError(f"{name} = {query[name][-1]!r:.80} is unknown; {way_out}")


def _one(name: str, query: Query) -> str | None:
    values = query.get(name, ())
    if len(values) > 1:
        raise RequestError(f"{name} = {', '.join(map(repr, values))} is given {len(values)} times; give it once")
    return values[0] if values else None


def _number(name: str, query: Query, *, default: int) -> int:
    text = _one(name, query)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_LIMIT:
        raise RequestError(
            f"{name} = {text!r:.80} is not a whole number from 1 to {MAX_LIMIT}; the default is {default}"
        )
    return int(text)


def _moment(name: str, query: Query, now: datetime) -> datetime | None:
    text = _one(name, query)
    if text is None:
        return None
    moment = parse_ts(int(text)) if re.fullmatch(r"[0-9]{1,18}", text) else parse_ts(text)
    if moment is None:
        moment = _ago(text, now)
    if moment is None:
        raise RequestError(
            f"{name} = {text!r:.80} is no time; give RFC 3339 (a + in it as %2B), epoch milliseconds, or a duration "
            "such as 24h"
        )
    return moment


def _ago(text: str, now: datetime) -> datetime | None:
    try:
        return now - parse_duration(text)
    except (ConfigError, OverflowError):
        return None
