"""memory: recalling what was noted, newest first, and noting only what the told rule wants, under the told key."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping

from cipher_nb.battery.family import Family, Question, rounds, vocabulary
from cipher_nb.battery.samples import Side

CATEGORY = "memory"

FACTS: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "editor font": ("Hack", "Iosevka", "Menlo", "Monaco"),
        "test runner": ("pytest", "nox", "unittest", "tox"),
        "release branch": ("main", "stable", "ship", "prod"),
        "code reviewer": ("Ana", "Leo", "Mia", "Tom"),
        "log level": ("debug", "info", "warning", "error"),
        "package manager": ("pip", "poetry", "uv", "conda"),
    },
    "sealed": {
        "theme": ("dawn", "nord", "slate", "dusk"),
        "formatter": ("black", "ruff", "yapf", "prettier"),
        "deploy target": ("staging", "canary", "edge", "lab"),
        "on-call engineer": ("Kim", "Raj", "Eva", "Sam"),
        "database": ("postgres", "sqlite", "mysql", "redis"),
        "shell": ("bash", "zsh", "fish", "dash"),
    },
}
LINE = "{} {}: {}"
RECALL = {"practice": "What is the {} today?", "sealed": "Which {} is current?"}
MONTHS = {"practice": range(1, 7), "sealed": range(7, 13)}


def recall(rng: random.Random, side: Side) -> Iterator[Question]:
    for versions in rounds((1, 1, 2, 3), rng):
        subject, *others = rng.sample(list(FACTS[side]), 4 - versions)
        values = rng.sample(FACTS[side][subject], versions)
        notes = [(subject, value) for value in values] + [(o, rng.choice(FACTS[side][o])) for o in others]
        dated = list(zip(_dates(rng, side, len(notes)), notes, strict=True))
        newest = max((date, value) for date, (name, value) in dated if name == subject)[1]
        lines = "\n".join(LINE.format(date, *note) for date, note in rng.sample(dated, len(dated)))
        yield Question(f"{lines}\n{RECALL[side].format(subject)}", newest)


def outdated(rng: random.Random, side: Side) -> Iterator[Question]:
    for place in rounds(NUMBERS, rng):
        subject, *others = rng.sample(list(FACTS[side]), 3)
        old, new, *dates = _dates(rng, side, 4, sort_first=2)
        older, newer = rng.sample(FACTS[side][subject], 2)
        notes = [(new, subject, newer)] + [
            (d, o, rng.choice(FACTS[side][o])) for d, o in zip(dates, others, strict=True)
        ]
        rng.shuffle(notes)
        notes.insert(int(place) - 1, (old, subject, older))
        lines = "\n".join(f"{number}. {LINE.format(*note)}" for number, note in enumerate(notes, 1))
        yield Question(lines, place, NUMBERS)


NUMBERS = ("1", "2", "3", "4")


def _dates(rng: random.Random, side: Side, count: int, *, sort_first: int = 0) -> list[str]:
    """Return different dates; the first `sort_first` of them in order."""
    days = rng.sample([(month, day) for month in MONTHS[side] for day in range(1, 29)], count)
    days[:sort_first] = sorted(days[:sort_first])
    return [f"2026-{month:02}-{day:02}" for month, day in days]


KINDS = ("preference", "decision", "secret", "moment")
SAID: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "preference": (
            "I like {0} better than {1} {2}.",
            "Please give me {0}, never {1}, {2}.",
            "{0}, not {1}, suits me {2}.",
        ),
        "decision": (
            "We agreed on {0} over {1} {2}.",
            "The team chose {0} against {1} {2}.",
            "The project left {1} for {0} {2}.",
        ),
        "secret": (
            "My password for the {0} is {2}.",
            "The key of the {0} is {2}.",
            "Log in to the {0} and the {1} with {2}.",
        ),
        "moment": (
            "Hang on, the {0} and the {1} are loading.",
            "Run the {0} once more, then the {1}.",
            "I see the {0} now, but no {1}.",
        ),
    },
    "sealed": {
        "preference": (
            "I would rather see {0} than {1} {2}.",
            "{0} makes me happier than {1} {2}.",
            "Spare me {1} {2}; I enjoy {0}.",
        ),
        "decision": (
            "It is official: {0} supersedes {1} {2}.",
            "Our vote {2}: {0} wins, {1} goes.",
            "{0} is our standard {2}; {1} retires.",
        ),
        "secret": (
            "The passphrase of my {0} reads {2}.",
            "Use API token {2} for the {0}.",
            "The PIN of the {0} and the {1}: {2}.",
        ),
        "moment": (
            "One second, the {0} and the {1} just froze.",
            "Try the {0} again without the {1}.",
            "Wait, the {0} is slow, and so is my {1}.",
        ),
    },
}
RIVALS = vocabulary(
    practice="pytest/unittest REST/gRPC Docker/Vagrant YAML/INI mypy/pyright npm/yarn Java/Kotlin Vim/Emacs",
    sealed="TOML/JSON black/yapf rebase/merge GraphQL/SOAP Podman/LXC ruff/flake8 Redis/Kafka Rust/Go",
)
SCOPES = vocabulary(
    practice="in tests; in scripts; in the API; in the docs; for new code; for the client; at work",
    sealed="in notebooks; in the parser; on the server; for releases; in the CLI; for old modules; on Linux",
    separator=";",
)
MACHINES = vocabulary(
    practice="build job; file tree; test run; mail server; wiki; debugger; git host; preview; log view; proxy; cluster",
    sealed="terminal; staging box; firewall; search panel; database; printer; call window; disk; router; bot; NAS",
    separator=";",
)


def sort(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind in rounds(KINDS, rng):
        if kind in ("preference", "decision"):
            slots = [*rng.sample(rng.choice(RIVALS[side]).split("/"), 2), rng.choice(SCOPES[side])]
        else:
            slots = [*rng.sample(MACHINES[side], 2), _password(rng)]
        yield Question(rng.choice(SAID[side][kind]).format(*slots), kind, KINDS)


def _password(rng: random.Random) -> str:
    return "".join(rng.choices("abcdefhkmnprstuvwxyz", k=4)) + str(rng.randrange(1000, 10_000))


OWNERS = vocabulary(
    practice="Billing API; User Portal; Mobile App; Search Index; Night Job; Docs Site; Mail Worker; Auth Gateway; "
    "Price Feed; Chat Bot; Tax Module; Image Cache; Test Farm; Token Store",
    sealed="Payment Service; Admin Panel; Chart Library; Import Tool; Data Lake; Event Bus; Home Page; Plugin Store; "
    "Road Map; Sales Desk; Video Player; Font Server; Help Center; Print Queue",
    separator=";",
)
SUBJECTS: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "retry limit": ("three", "five", "nine"),
        "code owner": ("Ana", "Leo", "Mia"),
        "default port": ("8080", "8443", "3000"),
        "release day": ("Monday", "Tuesday", "Friday"),
        "base image": ("alpine", "debian", "ubuntu"),
        "main language": ("Rust", "Java", "Python"),
    },
    "sealed": {
        "page size": ("20", "50", "100"),
        "lead maintainer": ("Kim", "Raj", "Eva"),
        "backup hour": ("midnight", "noon", "dawn"),
        "test folder": ("checks", "specs", "trials"),
        "build tool": ("make", "gradle", "bazel"),
        "log format": ("json", "logfmt", "plain"),
    },
}
TELL = {
    "practice": ("{0}: the {1} is {2}.", "The {1} of the {0} is {2}.", "For the {0}, {2} is the {1}."),
    "sealed": ("The {0} has {2} as its {1}.", "Note {2} as {1} for the {0}.", "In the {0} we set the {1} to {2}."),
}


def key(rng: random.Random, side: Side) -> Iterator[Question]:
    for tell in rounds(TELL[side], rng):
        owner, subject = rng.choice(OWNERS[side]), rng.choice(list(SUBJECTS[side]))
        text = tell.format(owner, subject, rng.choice(SUBJECTS[side][subject]))
        yield Question(text, f"{owner}/{subject}".lower().replace(" ", "-"))


SLOTS = vocabulary(practice="font shell theme branch", sealed="runner linter locale editor")
VALUES = vocabulary(practice="oak elm fir ash yew", sealed="red teal navy lime pink")
DO = {
    "practice": {"set": "set {} to {}", "forget": "forget {}"},
    "sealed": {"set": "note {} = {}", "forget": "forget {}"},
}


def state(rng: random.Random, side: Side) -> Iterator[Question]:
    for length in rounds((1, 2, 3, 5), rng):
        held: dict[str, str] = {}
        told = []
        slots = rng.sample(SLOTS[side], 3)
        for _ in range(length):
            if held and rng.random() < 0.25:
                slot = rng.choice(list(held))
                del held[slot]
                told.append(DO[side]["forget"].format(slot))
            else:
                slot, value = rng.choice(slots), rng.choice(VALUES[side])
                held[slot] = value
                told.append(DO[side]["set"].format(slot, value))
        yield Question("; ".join(told), json.dumps(held))


RECALL_EXAMPLES = (
    ("2025-03-09 pet: cat\n2025-05-12 lunch: soup\n2025-02-11 car: bus\nWhat pet?", "cat"),
    ("2025-03-11 lunch: rice\n2025-06-09 pet: fish\n2025-10-03 lunch: bread\nWhat lunch?", "bread"),
    ("2025-08-11 car: van\n2025-06-19 car: tram\n2025-10-30 lunch: eggs\nWhat car?", "van"),
)
OUTDATED_EXAMPLES = (
    (
        "1. 2025-02-09 pet: dog\n2. 2025-05-12 lunch: soup\n3. 2025-03-11 pet: cat\n4. 2025-01-02 car: van",
        "1",
    ),
    (
        "1. 2025-02-03 car: bus\n2. 2025-05-12 lunch: soup\n3. 2025-03-11 pet: cat\n4. 2025-01-09 car: van",
        "4",
    ),
)
SORT = (
    "Sort what the operator says: preference (how they like things), decision (what the project has settled), "
    "secret (never stored), moment (only matters now)."
)
SORT_EXAMPLES = (
    ("I prefer tea to milk.", "preference"),
    ("My code for the door is 4711.", "secret"),
    ("We decided to buy the bike.", "decision"),
    ("Hold on, my tea is hot.", "moment"),
)
KEY_EXAMPLES = (
    ("The Blue Car has two doors as door count.", "blue-car/door-count"),
    ("Paint for the Garden Gate is green.", "garden-gate/paint"),
)
STATE_EXAMPLES = (
    ("put pet = cat", '{"pet": "cat"}'),
    ("put pet = cat; put lunch = soup; put pet = dog", '{"lunch": "soup", "pet": "dog"}'),
    ("put car = van; put lunch = rice", '{"car": "van", "lunch": "rice"}'),
    ("put pet = fish; put lunch = rice; forget pet", '{"lunch": "rice"}'),
)

FAMILIES = (
    Family("recall", "The newest note wins. Answer with the value.", "normalised", recall, examples=RECALL_EXAMPLES),
    Family(
        "outdated",
        "A newer note on the same subject makes the older one outdated. Answer with the outdated note's number.",
        "choice",
        outdated,
        examples=OUTDATED_EXAMPLES,
    ),
    Family("sort", SORT, "choice", sort, examples=SORT_EXAMPLES),
    Family(
        "key",
        "Write the memory key of the fact: <owner>/<subject>, in lower case, with - for each space.",
        "normalised",
        key,
        examples=KEY_EXAMPLES,
    ),
    Family(
        "state",
        "Write what memory holds in the end, as a JSON object.",
        "json",
        state,
        examples=STATE_EXAMPLES,
        max_tokens=32,
    ),
)
