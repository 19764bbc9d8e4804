"""plugin manager: version ranges, the version to install, what wakes a plugin and what it must ask for."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cipher_nb.battery.family import Family, Question, rounds, vocabulary
from cipher_nb.battery.samples import Side

CATEGORY = "plugin manager"

Version = tuple[int, int, int]


@dataclass(frozen=True)
class Range:
    """A caret, tilde or plain `>=` range, as npm reads it (but `^0.0.x` is not used)."""

    kind: str
    low: Version

    def __str__(self) -> str:
        return f"{self.kind}{_dotted(self.low)}"

    @property
    def end(self) -> Version:
        """The first version that is too new."""
        major, minor, _ = self.low
        if self.kind == ">=":
            return (1_000, 0, 0)
        return (major + 1, 0, 0) if self.kind == "^" and major else (major, minor + 1, 0)


def where(version: Version, wanted: Range) -> str:
    """Return whether the version is "below", "inside" or "above" the range."""
    if version < wanted.low:
        return "below"
    return "inside" if version < wanted.end else "above"


MAJORS = {"practice": (2, 3, 4), "sealed": (7, 8, 9)}
MINORS_OF_ZERO = {"practice": (2, 3), "sealed": (7, 8, 9)}
PLUGINS = vocabulary(
    practice="tidy spellbee gitlens pyhelp colors todoist", sealed="neat wordfix branchy rustic themes sticky"
)
IS_IN = {"practice": "v{} for {}?", "sealed": "Range {1}, version {0}"}
WHERE = ("below", "inside", "above")


def range_(rng: random.Random, side: Side) -> Iterator[Question]:
    for target, kind in rounds([("below", ">="), *((w, k) for w in WHERE for k in "^~"), ("inside", ">=")], rng):
        wanted = _range(rng, side, kind)
        version = next(each for each in _near(rng, wanted) if where(each, wanted) == target)
        yield Question(IS_IN[side].format(_dotted(version), wanted), target, WHERE)


PICK = {"practice": "{} {} from {}", "sealed": "{} {} out of {}"}


def pick(rng: random.Random, side: Side) -> Iterator[Question]:
    for inside, outside in rounds(((0, 3), (1, 1), (1, 2), (2, 1), (2, 2)), rng):
        wanted = _range(rng, side, rng.choice("^^~"))
        offers = _offers(rng, wanted, inside=inside, outside=outside)
        newest = max((each for each in offers if where(each, wanted) == "inside"), default=None)
        shown = {"practice": ", ", "sealed": " or "}[side].join(map(_dotted, rng.sample(offers, len(offers))))
        text = PICK[side].format(rng.choice(PLUGINS[side]), wanted, shown)
        yield Question(text, _dotted(newest) if newest else "none")


def _offers(rng: random.Random, wanted: Range, *, inside: int, outside: int) -> list[Version]:
    left = {True: inside, False: outside}
    found: list[Version] = []
    for version in _near(rng, wanted):
        fits = where(version, wanted) == "inside"
        if left[fits] and version not in found:
            found.append(version)
            left[fits] -= 1
        if not any(left.values()):
            break
    return found


UNMET = {"practice": "Present: {}. Required: {}.", "sealed": "We have {}; the plugin depends on {}."}


def unmet(rng: random.Random, side: Side) -> Iterator[Question]:
    for faults in rounds((0, 1, 1, 2), rng):
        names = rng.sample(PLUGINS[side], 3)
        bad = set(rng.sample(names, faults))
        needs = {name: _range(rng, side, rng.choice("^~")) for name in names}
        have = []
        for name, wanted in needs.items():
            version = _offers(rng, wanted, inside=int(name not in bad), outside=int(name in bad))[0]
            have += [] if name in bad and rng.random() < 0.4 else [f"{name} {_dotted(version)}"]
        told = ", ".join(f"{name} {wanted}" for name, wanted in needs.items())
        text = UNMET[side].format(", ".join(rng.sample(have, len(have))), told)
        yield Question(text, json.dumps([name for name in names if name in bad]))


def _range(rng: random.Random, side: Side, kind: str) -> Range:
    if rng.random() < 0.3:
        return Range(kind, (0, rng.choice(MINORS_OF_ZERO[side]), rng.randrange(1, 9)))
    return Range(kind, (rng.choice(MAJORS[side]), rng.randrange(1, 12), rng.randrange(1, 9)))


def _near(rng: random.Random, wanted: Range) -> Iterator[Version]:
    """Yield, without end, versions that differ a little from the range's low end, with anything behind that place."""
    major, minor, patch = wanted.low
    while True:
        yield rng.choice(
            (
                wanted.low,
                (major, minor, max(0, patch + rng.choice((-1, 1, 3)))),
                (major, max(0, minor + rng.choice((-1, 1))), rng.randrange(12)),
                (max(0, major + rng.choice((-1, 1))), rng.choice((0, minor)), rng.randrange(9)),
            )
        )


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


LANGUAGES = {
    "practice": {"python": "py", "c": "c", "html": "html", "java": "java"},
    "sealed": {"ruby": "rb", "go": "go", "css": "css", "rust": "rs"},
}
COMMANDS = vocabulary(practice="page.print text.sort code.fold", sealed="line.join word.count file.stamp")
MARKERS = vocabulary(practice="setup.py Makefile pom.xml", sealed="Gemfile go.mod Cargo.toml")
HAPPENS = {
    "practice": {
        "onLanguage": "{} opens -> ?",
        "onCommand": "{} is run -> ?",
        "hasFile": "A folder with {} opens -> ?",
        "onStart": "{} starts -> ?",
    },
    "sealed": {
        "onLanguage": "{} was opened -> ?",
        "onCommand": "{} was invoked -> ?",
        "hasFile": "A folder with {} was opened -> ?",
        "onStart": "{} was started -> ?",
    },
}
STEMS = vocabulary(practice="main users tools", sealed="index orders tests")
WINDOW = {"practice": "The workbench", "sealed": "AIDE"}


def wake(rng: random.Random, side: Side) -> Iterator[Question]:
    for case in rounds(("wakes", "wakes", "wakes", "wakes", "disabled", "unlisted"), rng):
        events = rng.sample(_events(side), 4)
        names = rng.sample(PLUGINS[side], 3)
        listed = dict(zip(names[: rng.choice((2, 3))], events, strict=False))
        happening = events[3] if case == "unlisted" else events[0]
        off = names[0] if case == "disabled" else rng.choice((names[1], ""))
        lines = [f"{event} -> {name}{' (disabled)' * (name == off)}" for name, event in listed.items()]
        rng.shuffle(lines)
        yield Question("\n".join([*lines, _told(rng, side, happening)]), names[0] if case == "wakes" else "none")


def _events(side: Side) -> list[str]:
    return [
        *(f"onLanguage:{name}" for name in LANGUAGES[side]),
        *(f"onCommand:{name}" for name in COMMANDS[side]),
        *(f"hasFile:{name}" for name in MARKERS[side]),
        "onStart",
    ]


def _told(rng: random.Random, side: Side, event: str) -> str:
    kind, _, detail = event.partition(":")
    if kind == "onLanguage":
        detail = f"{rng.choice(STEMS[side])}.{LANGUAGES[side][detail]}"
    return HAPPENS[side][kind].format(detail or WINDOW[side])


PERMISSIONS = ("read", "write", "network", "shell")
ANSWERS = (*PERMISSIONS, "none")
DOES: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "read": ("counts the words in {}", "shows a preview of {}", "searches {} for names"),
        "write": ("removes blank lines from {}", "adds a header to {}", "replaces tabs in {}"),
        "network": ("sends {} to a review site", "mails {} to a client", "posts {} in a chat room"),
        "shell": ("starts make for {}", "calls git blame on {}", "runs pytest for {}"),
    },
    "sealed": {
        "read": ("lists the headings of {}", "looks for typing errors in {}", "measures how long {} is"),
        "write": ("sorts the lines of {} on disk", "fixes the spelling inside {}", "overwrites {}"),
        "network": ("uploads {} to a server", "asks a web service about {}", "shares {} online"),
        "shell": ("launches npm test on {}", "executes grep over {}", "opens a terminal and lints {}"),
    },
}
DATA = vocabulary(
    practice="notes.txt app.py README.md data.csv page.html setup.cfg",
    sealed="todo.md cli.rs LICENSE menu.json faq.rst tests.rb",
)
GRANT = {"practice": "Granted: {}. It {}.", "sealed": "A plugin that has {} {}."}


def permission(rng: random.Random, side: Side) -> Iterator[Question]:
    for answer in rounds(ANSWERS, rng):
        needed = answer if answer != "none" else rng.choice(PERMISSIONS)
        others = [each for each in PERMISSIONS if each != needed]
        granted = rng.sample(others, rng.choice((1, 2)))
        if answer == "none":
            granted = rng.sample([needed, granted[0]], 2)
        action = rng.choice(DOES[side][needed]).format(rng.choice(DATA[side]))
        yield Question(GRANT[side].format(" and ".join(granted), action), answer, ANSWERS)


SEMVER = (
    "^1.2.3: from 1.2.3 to below 2.0.0. ^0.2.3: from 0.2.3 to below 0.3.0. ~1.2.3: from 1.2.3 to below 1.3.0. "
    "Numbers count as numbers: 1.10.0 is newer than 1.9.0."
)
RANGE_EXAMPLES = (
    ("1.3.0 in ^1.2.0", "inside"),
    ("1.3.0 in ~1.2.0", "above"),
    ("1.1.9 in >=1.2.0", "below"),
    ("0.3.0 in ^0.2.1", "above"),
)
PICK_EXAMPLES = (
    ("dog ~1.2.0 of 1.3.0, 1.1.0, 2.0.0", "none"),
    ("cat ^1.2.0 of 1.1.0, 1.4.0, 2.0.0, 1.2.5", "1.4.0"),
    ("owl ^0.2.0 of 0.3.0, 0.2.4", "0.2.4"),
    ("cat ~1.1.3 of 1.1.3, 1.2.0, 1.1.8", "1.1.8"),
)
UNMET_EXAMPLES = (
    ("cat 1.4.0, dog 1.1.0 / cat ^1.2.0, dog ^1.2.0, owl ~1.0.0", '["dog", "owl"]'),
    ("owl 1.0.5, cat 1.2.0 / owl ~1.0.0, cat ^1.1.0", "[]"),
)
WAKE = (
    "The plugin after the arrow wakes when its event happens: onLanguage (a file of that language is opened), "
    "onCommand (that command is run), hasFile (a folder with that file is opened), onStart. A disabled one never "
    "wakes. Name the one that wakes, or none."
)
WAKE_EXAMPLES = (
    ("hasFile:x.y -> owl\nonLanguage:lua -> cat (disabled)\nm.lua was opened -> ?", "none"),
    ("onLanguage:lua -> cat\nonCommand:a.b -> dog\na.b runs -> ?", "dog"),
    ("onStart -> cat\nonLanguage:lua -> owl\nm.lua opens -> ?", "owl"),
    ("hasFile:x.y -> dog\nonCommand:a.b -> owl\nA folder with x.y opens -> ?", "dog"),
)
PERMISSION = (
    "Each action needs one permission. read: looks at files. write: changes files. network: talks to other machines. "
    "shell: starts programs. Name the one the plugin must still ask for, or none if it has it."
)
PERMISSION_EXAMPLES = (
    ("Has write. Prints a.x.", "read"),
    ("Has shell, read. Starts ls.", "none"),
    ("Has read. Mails a.x.", "network"),
    ("Has network. Erases a.x.", "write"),
    ("Has read. Runs ls.", "shell"),
)

FAMILIES = (
    Family("range", f"{SEMVER} Answer below, inside or above.", "choice", range_, examples=RANGE_EXAMPLES),
    Family(
        "pick", f"{SEMVER} Name the newest version in the range, or none.", "normalised", pick, examples=PICK_EXAMPLES
    ),
    Family(
        "unmet",
        f"{SEMVER} List the needed plugins that are absent or outside their range, as a JSON array.",
        "json",
        unmet,
        examples=UNMET_EXAMPLES,
        max_tokens=24,
    ),
    Family("wake", WAKE, "normalised", wake, examples=WAKE_EXAMPLES),
    Family("permission", PERMISSION, "choice", permission, examples=PERMISSION_EXAMPLES),
)
