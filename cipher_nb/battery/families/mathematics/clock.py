"""Ways to ask for a time of day."""

from __future__ import annotations

from cipher_nb.battery.families.mathematics.amounts import Draw, Kind, Values


def _later(start: int, minutes: int) -> Values:
    return {"start": _hhmm(start), "took": minutes, "end": _hhmm(start + minutes), "answer": _hhmm(start + minutes)}


def _hhmm(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def _daily(draw: Draw) -> Values:
    return _later(60 * draw(0, 23) + draw(0, 59), 24 * 60)


def _morning(draw: Draw) -> Values:
    hour, minute = draw(1, 11), draw(0, 59)
    return {"twelve": f"{hour}:{minute:02d}", "answer": _hhmm(60 * hour + minute)}


def _afternoon(draw: Draw) -> Values:
    hour, minute = draw(1, 11), draw(0, 59)
    return {"twelve": f"{hour}:{minute:02d}", "answer": _hhmm(60 * (hour + 12) + minute)}


def _hours_later(draw: Draw) -> Values:
    hours = draw(2, 7)
    return {**_later(60 * draw(1, 15) + draw(0, 59), 60 * hours), "hours": hours}


def _within_the_hour(draw: Draw) -> Values:
    return _later(60 * draw(1, 22) + draw(0, 29), draw(5, 30))


def _past_the_hour(draw: Draw) -> Values:
    return _later(60 * draw(1, 22) + draw(35, 58), draw(25, 55))


def _past_midnight(draw: Draw) -> Values:
    return _later(60 * 23 + draw(5, 55), draw(56, 150))


def _earlier(draw: Draw) -> Values:
    values = _past_the_hour(draw)
    return {**values, "answer": values["start"]}


def _two_steps(draw: Draw) -> Values:
    first, second = draw(15, 55), draw(15, 55)
    return {**_later(60 * draw(1, 20) + draw(10, 55), first + second), "first": first, "second": second}


CLOCK = (
    Kind(
        _morning,
        practice=("Backup at {twelve} AM.", "Meeting at {twelve} AM."),
        sealed=("Alarm at {twelve} AM.", "Deadline {twelve} AM."),
    ),
    Kind(
        _afternoon,
        practice=("Backup at {twelve} PM.", "Meeting at {twelve} PM."),
        sealed=("Alarm at {twelve} PM.", "Deadline {twelve} PM."),
    ),
    Kind(
        _daily,
        practice=("The {start} build, one day later?",),
        sealed=("Same time tomorrow as {start} today.",),
    ),
    Kind(
        _daily,
        practice=("A daily job ran at {start}. When does it run tomorrow?",),
        sealed=("Backup every 24 hours, last one {start}. Next one?",),
    ),
    Kind(
        _hours_later,
        practice=("A job starts at {start} and takes {hours} hours. When does it end?",),
        sealed=("A clock shows {start}. What does it show {hours} hours later?",),
    ),
    Kind(
        _within_the_hour,
        practice=("It is {start}. The build needs {took} minutes. When is it done?",),
        sealed=("Token issued {start}, valid {took} min. Expires?",),
    ),
    Kind(
        _past_the_hour,
        practice=("A backup began at {start} and ran for {took} minutes. When did it end?",),
        sealed=("Retry {took} min after {start} means a retry at?",),
    ),
    Kind(
        _past_midnight,
        practice=("The night starts at {start} and lasts {took} minutes. When is it over?",),
        sealed=("Import launched {start}, runtime {took} min. Finishes?",),
    ),
    Kind(
        _earlier,
        practice=("A run ended at {end} after {took} minutes. When did it start?",),
        sealed=("Alert at {end}, {took} min into the outage. Outage since?",),
    ),
    Kind(
        _two_steps,
        practice=("From {start} on: {first} minutes of tests, then {second} minutes of upload. When is all done?",),
        sealed=("Meeting {start}, {first} min long, next one right after, {second} min long. Free again?",),
    ),
)
