"""handoff: handing work to another agent or person: what a note says, the record it becomes, and who gets the work."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "handoff"

PEOPLE = {
    "practice": ("Ana", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"),
    "sealed": ("Ines", "Joel", "Kim", "Lars", "Mona", "Nils", "Olga", "Pia"),
}
PARTS = {
    "practice": ("mailer", "login page", "search index", "upload form", "cache", "settings view"),
    "sealed": ("parser", "chat panel", "export job", "theme editor", "router", "plugin list"),
}
GOALS = {
    "practice": ("speed up the {}", "translate the {}", "move the {} to TypeScript", "add tests to the {}"),
    "sealed": ("simplify the {}", "document the {}", "port the {} to Rust", "measure the {}"),
}
FLAWS = {
    "practice": ("slow query", "failing build", "missing icon", "wrong date", "dead link", "double entry"),
    "sealed": ("memory leak", "flaky test", "broken font", "stale lock", "lost cursor", "blank report"),
}
STEPS = {
    "practice": ("update numpy", "write the changelog", "ask for review", "drop the old table", "rerun the build"),
    "sealed": ("pin the compiler", "tag the release", "split the commit", "refresh the keys", "close the ticket"),
}

NOTES = {
    "practice": (
        "owner={owner}, earlier={before}, open={open}, next={next}, goal={goal}",
        "Goal is to {goal}. Owner is {owner}. Open problem is the {open}. Next step is to {next}.",
        "{before} began to {goal}; {owner} carries on. A {open} is unsolved. {owner} should now {next}.",
        "We want to {goal}. {before} left it to {owner}. Open: {open}. Then {next}.",
        "First {next}, says {before}, who hands over to {owner}. There is still a {open}. All this to {goal}.",
        "{ill} was to {goal} after {before} but is on leave, so it is for {owner}. One {open} is left. Start: {next}.",
    ),
    "sealed": (
        "New owner: {owner}. Old owner: {before}. Unsolved: {open}. Next: {next}. Goal: {goal}.",
        "The goal: {goal}. The owner: {owner}. Still open: {open}. The next step: {next}.",
        "Aim: {goal}. Was with {before}, now with {owner}. Known problem: {open}. What comes now: {next}.",
        "{owner} takes over from {before}, still trying to {goal}. Do this now: {next}. Not solved yet: {open}.",
        "Please {next} next, {owner}. {before} met a {open} and could not mend it while trying to {goal}.",
        "{before} gave this to {ill}, who fell ill; {owner} has it now. Purpose: {goal}. Bug: {open}. To do: {next}.",
    ),
}
ASKED = {
    "practice": {"goal": "Goal?", "owner": "Owner?", "open": "Open problem?", "next": "Next step?"},
    "sealed": {"goal": "The goal:", "owner": "Owner now:", "open": "Unsolved:", "next": "To do next:"},
}


def extract(rng: random.Random, side: Side) -> Iterator[Question]:
    for field in rounds(list(ASKED[side]), rng):
        note, facts = _note(rng, side)
        pattern = f"(an? |the |to )?{re.escape(facts[field])}"
        yield Question(f"{note}\n{ASKED[side][field]}", pattern, reference=facts[field])


def record(rng: random.Random, side: Side) -> Iterator[Question]:
    while True:
        note, facts = _note(rng, side)
        yield Question(note, json.dumps({name: facts[name] for name in ("owner", "open", "next")}))


def _note(rng: random.Random, side: Side) -> tuple[str, dict[str, str]]:
    owner, before, ill = rng.sample(PEOPLE[side], 3)
    facts = {
        "owner": owner,
        "goal": rng.choice(GOALS[side]).format(rng.choice(PARTS[side])),
        "open": rng.choice(FLAWS[side]),
        "next": rng.choice(STEPS[side]),
    }
    return rng.choice(NOTES[side]).format(before=before, ill=ill, **facts), facts


SUFFIXES = {
    "practice": {".py": ("load", "main"), ".css": ("page", "grid"), ".sql": ("users", "jobs"), ".md": ("guide", "faq")},
    "sealed": {".rs": ("lexer", "heap"), ".ts": ("modal", "store"), ".tf": ("network", "disk"), ".po": ("de", "fr")},
}
TABLE = {"practice": ("{} to {}", "else to {}"), "sealed": ("{}: {}", "rest: {}")}
AWAY = {"practice": "{} is off, {} stands in", "sealed": "absent: {}, deputy: {}"}
PASSED = {"practice": "Who gets {}?", "sealed": "Hand over {}"}
CASES = ("listed", "other", "deputy", "other deputy")


def whom(rng: random.Random, side: Side) -> Iterator[Question]:
    for case in rounds(CASES, rng):
        suffixes = rng.sample(list(SUFFIXES[side]), 4)
        holders = rng.sample(PEOPLE[side], 5)
        line, rest = TABLE[side]
        table = [line.format(suffix, holder) for suffix, holder in zip(suffixes[:3], holders[:3], strict=True)]
        table.append(rest.format(holders[3]))
        turn = 3 if case.startswith("other") else rng.randrange(3)
        away = turn if case.endswith("deputy") else rng.choice([index for index in range(4) if index != turn])
        if case.endswith("deputy") or rng.random() < 0.6:
            table.append(AWAY[side].format(holders[away], holders[4]))
        file = rng.choice(SUFFIXES[side][suffixes[turn]]) + suffixes[turn]
        text = "\n".join([*table, PASSED[side].format(file)])
        yield Question(text, holders[4] if away == turn else holders[turn])


STATES = ("open", "blocked", "done")
SAID = {
    "practice": {
        "open": ("{} in the making", "work on {} goes on", "{} half written"),
        "blocked": (
            "{} waits for a licence",
            "{} cannot go on without a server",
            "nobody may touch {} before the audit",
        ),
        "done": ("{} merged", "{} finished", "{} is live"),
    },
    "sealed": {
        "open": ("{} under way", "{} in progress", "still busy with {}"),
        "blocked": ("{} needs a key we lack", "{} stuck until legal answers", "{} on hold for the vendor"),
        "done": ("{} shipped", "{} completed", "{} closed as solved"),
    },
}
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")
BEFORE = {
    "open": ((), ("blocked",), ("open", "blocked")),
    "blocked": ((), ("open",), ("blocked", "open")),
    "done": ((), ("open",), ("blocked",), ("open", "blocked")),
}


def state(rng: random.Random, side: Side) -> Iterator[Question]:
    for wanted in rounds(STATES, rng):
        item, *others = rng.sample(PARTS[side], 3)
        said = [(item, found) for found in (*rng.choice(BEFORE[wanted]), wanted)]
        for other in others[: rng.choice((1, 2))]:
            said.insert(rng.randrange(len(said) + 1), (other, rng.choice(STATES)))
        log = [
            f"{day}: {rng.choice(SAID[side][found]).format(name)}"
            for day, (name, found) in zip(DAYS, said, strict=False)
        ]
        yield Question("\n".join([*log, f"{item}?"]), wanted, STATES)


ISSUES = {"practice": range(2, 12), "sealed": range(12, 40)}
LOADS = {
    "practice": {
        "has": "{} has {} tickets.",
        "give": "{} hands {} over to {}.",
        "close": "{} closes {}.",
        "ask": "How many has {} now?",
    },
    "sealed": {
        "has": "{} holds {} issues.",
        "give": "{} passes {} on to {}.",
        "close": "{} solves {}.",
        "ask": "Left with {}:",
    },
}


def load(rng: random.Random, side: Side) -> Iterator[Question]:
    for moves in rounds((0, 1, 1, 2), rng):
        giver, taker = rng.sample(PEOPLE[side], 2)
        held = {name: rng.choice(ISSUES[side]) for name in rng.sample((giver, taker), 2)}
        words = LOADS[side]
        text = [words["has"].format(name, number) for name, number in held.items()]
        if moves:
            given = rng.randrange(1, held[giver])
            held[giver] -= given
            held[taker] += given
            text.append(words["give"].format(giver, given, taker))
        if moves == 2:
            closer = rng.choice((giver, taker))
            closed = rng.randrange(1, held[closer] + 1)
            held[closer] -= closed
            text.append(words["close"].format(closer, closed))
        asked = rng.choice((giver, taker))
        yield Question(" ".join([*text, words["ask"].format(asked)]), str(held[asked]))


EXTRACT_EXAMPLES = (
    ("Yan has the shed now, not Zoe. Problem: wet wood.\nOwner:", "Yan"),
    ("Zoe, buy nails. Then paint. All to mend the shed.\nGoal:", "mend the shed"),
    ("Yan found a loose door. Xi now has to sort the bolts.\nNext:", "sort the bolts"),
    ("Xi left the roof to Wu. It has a thin beam.\nOpen:", "thin beam"),
)
RECORD_EXAMPLES = (
    (
        "Zoe had it, Yan has it now. Open: wet wood. Next: buy nails.",
        '{"owner": "Yan", "open": "wet wood", "next": "buy nails"}',
    ),
    (
        "Xi, please sort the bolts. Yan could not solve the loose door.",
        '{"owner": "Xi", "open": "loose door", "next": "sort the bolts"}',
    ),
)
WHOM_EXAMPLES = (
    (".c = Zoe\n.h = Yan\nothers = Xi\nFor a.h", "Yan"),
    (".c = Zoe\n.h = Yan\nothers = Xi\nFor b.js", "Xi"),
    (".c = Zoe\n.h = Yan\nothers = Xi\naway Zoe, instead Wu\nFor a.c", "Wu"),
)
STATE_EXAMPLES = (
    ("Mon: shed started\nTue: door painted and done\nshed?", "open"),
    ("Mon: shed may not go on without wood\nshed?", "blocked"),
    ("Mon: door without paint, we wait\nTue: door ready at last\ndoor?", "done"),
)
LOAD_EXAMPLES = (
    ("Zoe has 5. Yan has 3. Yan?", "3"),
    ("Zoe has 5. Yan has 3. Zoe gives 2 to Yan. Zoe?", "3"),
)

FAMILIES = (
    Family(
        "extract",
        "Answer in words of the note: the goal, the owner from now on, the open problem or the next step.",
        "regex",
        extract,
        examples=EXTRACT_EXAMPLES,
    ),
    Family(
        "record",
        "Write the handoff as JSON: the owner from now on, the open problem, the next step, in the words of the note.",
        "json",
        record,
        examples=RECORD_EXAMPLES,
        max_tokens=40,
    ),
    Family(
        "whom",
        "Who gets the file? The table says who is in charge; who is away is replaced by the deputy.",
        "normalised",
        whom,
        examples=WHOM_EXAMPLES,
        max_tokens=6,
    ),
    Family(
        "state",
        "Is the item open, blocked or done? The last word on it counts.",
        "choice",
        state,
        examples=STATE_EXAMPLES,
    ),
    Family("load", "Answer with the number.", "numeric", load, examples=LOAD_EXAMPLES, max_tokens=6),
)
