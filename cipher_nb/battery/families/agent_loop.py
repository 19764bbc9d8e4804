"""agent loop: what the assistant does after a result (next step, retry or question), and what it has left to spend."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "agent loop"

FILES = {
    "practice": ("app.py", "index.ts", "user.go", "cache.rs", "login.rb", "pages.js", "load.pl", "backup.sh"),
    "sealed": ("cli.py", "store.ts", "mail.go", "lexer.rs", "worker.rb", "timer.js", "seed.pl", "crawl.sh"),
}
LINES = {"practice": range(11, 60), "sealed": range(60, 150)}
FAILURES = {"practice": (1, 3, 5, 7, 9), "sealed": (2, 4, 6, 8)}

MOVES = ("read", "edit", "test", "ask", "finish")
TASK = {"practice": ("Mend {}", "Make {} work", "Job: {}"), "sealed": ("Repair {}", "Broken: {}", "Get {} right")}
MAX_FAILURES = 3


def step(rng: random.Random, side: Side) -> Iterator[Question]:
    for move in rounds(MOVES, rng):
        failures = MAX_FAILURES if move == "ask" else rng.randrange(MAX_FAILURES)
        log = [_read(rng, side)]
        for _ in range(failures):
            if rng.random() < 0.25:
                log += ["edit: refused", _read(rng, side)]
            log += ["edit: saved", f"test: {rng.choice(FAILURES[side])} failed"]
        again = ["edit: refused", _read(rng, side)] if rng.random() < 0.25 else []
        ending = {
            "read": ["edit: refused"],
            "edit": again,
            "test": ["edit: saved"],
            "ask": [],
            "finish": ["edit: saved", "test: passed"],
        }
        task = rng.choice(TASK[side]).format(rng.choice(FILES[side]))
        yield Question("\n".join([task, *log, *ending[move]]), move, MOVES)


def _read(rng: random.Random, side: Side) -> str:
    return f"read: {rng.choice(LINES[side])} lines"


GOOD = {"read": "{lines} lines", "edit": "saved", "run": "exit 0", "test": "{lines} passed, 0 failed"}
BAD = {"read": "no such file", "edit": "text not found", "run": "exit {bad}", "test": "{lines} passed, {bad} failed"}
STEPS = 5


def failed(rng: random.Random, side: Side) -> Iterator[Question]:
    calls = [(tool, file) for tool in GOOD for file in FILES[side]]
    for target in rounds(range(STEPS), rng):
        made = rng.sample(calls, STEPS)
        bad = {target}
        if rng.random() < 0.6:
            first, again = sorted(rng.sample([index for index in range(STEPS) if index != target], 2))
            made[again] = made[first]
            bad.add(first)
        lines = []
        for index, (tool, file) in enumerate(made):
            outcome = (BAD if index in bad else GOOD)[tool]
            numbers = {"lines": rng.choice(LINES[side]), "bad": rng.choice(FAILURES[side])}
            lines.append(f"s{index + 1} {tool} {file}: {outcome.format(**numbers)}")
        yield Question("\n".join(lines), f"s{target + 1}")


REACTIONS = ("retry", "fix", "ask", "stop")
COMMANDS = {
    "practice": ("git pull", "npm install", "fetch page", "send mail", "save draft", "run linter", "open issue"),
    "sealed": ("git push", "pip download", "query database", "upload file", "load model", "run build", "post comment"),
}
ERRORS = {
    "practice": {
        "retry": ("connection timed out", "server is busy (503)", "network is down", "too many requests (429)"),
        "fix": ("unknown option --colour", "no such file", "argument must be a number", "bad date format"),
        "ask": ("permission denied", "no password given", "sign in first", "account lacks the right to do this"),
    },
    "sealed": {
        "retry": ("connection reset", "gateway timeout (504)", "host cannot be reached now", "resource busy, wait 2 s"),
        "fix": ("invalid flag -z", "path does not exist", "expected an integer, got text", "missing argument: name"),
        "ask": ("access forbidden (403)", "credentials are missing", "login needed", "not authorised"),
    },
}
ATTEMPT = {"practice": "{command}, try {n} of {limit}: {error}", "sealed": "Attempt {n}/{limit} at {command}: {error}"}


def retry(rng: random.Random, side: Side) -> Iterator[Question]:
    for reaction in rounds(REACTIONS, rng):
        limit = rng.choice((3, 4, 5))
        attempt = limit if reaction == "stop" else rng.randrange(1, limit)
        cause = rng.choice(REACTIONS[:3]) if reaction == "stop" else reaction
        text = ATTEMPT[side].format(
            command=rng.choice(COMMANDS[side]), n=attempt, limit=limit, error=rng.choice(ERRORS[side][cause])
        )
        yield Question(text, reaction, REACTIONS)


TRIES = {
    "practice": ("{step} may be tried {limit} times. It failed {used} times. Tries left?", range(4, 10)),
    "sealed": ("Limit for {step}: {limit} attempts. Failures so far: {used}. How many remain?", range(10, 20)),
}
CALLS = {
    "practice": ("{budget} calls allowed. Made: {a} reads, {b} edits, {c} tests. Calls left?", range(2, 9), 10),
    "sealed": ("Call budget {budget}; spent on reading {a}, editing {b}, testing {c}. Remaining?", range(9, 18), 30),
}
TURNS = {
    "practice": ("{budget} tokens allowed. {turns} turns took {cost} each. Tokens left?", range(1, 6)),
    "sealed": ("Token budget {budget}. Every turn costs {cost}; {turns} are over. Remaining?", range(6, 11)),
}
SHOWN = {
    "practice": ("tokens: used {used}, left {rest}, limit {limit}\nleft?", range(1, 40)),
    "sealed": ("limit={limit} used={used} left={rest}\nWhat is left:", range(40, 90)),
}
BUDGET_STEPS = {"practice": ("Lint", "Unpack", "Install"), "sealed": ("compile", "deploy", "migrate", "render")}


def left(rng: random.Random, side: Side) -> Iterator[Question]:
    for make in rounds((_shown, _tries, _calls, _turns), rng):
        yield make(rng, side)


def _shown(rng: random.Random, side: Side) -> Question:
    wording, numbers = SHOWN[side]
    used, rest = rng.choice(numbers), rng.choice(numbers)
    return Question(wording.format(limit=used + rest, used=used, rest=rest), str(rest))


def _tries(rng: random.Random, side: Side) -> Question:
    wording, limits = TRIES[side]
    limit = rng.choice(limits)
    used = rng.randrange(2, limit)
    step_name = rng.choice(BUDGET_STEPS[side])
    return Question(wording.format(step=step_name, limit=limit, used=used), str(limit - used))


def _calls(rng: random.Random, side: Side) -> Question:
    wording, counts, spare = CALLS[side]
    a, b, c = (rng.choice(counts) for _ in range(3))
    remaining = rng.randrange(1, spare)
    return Question(wording.format(budget=a + b + c + remaining, a=a, b=b, c=c), str(remaining))


def _turns(rng: random.Random, side: Side) -> Question:
    wording, hundreds = TURNS[side]
    turns, cost, remaining = rng.randrange(2, 5), 100 * rng.choice(hundreds), 100 * rng.randrange(1, 20)
    return Question(wording.format(budget=turns * cost + remaining, turns=turns, cost=cost), str(remaining))


PARTS = {
    "practice": ("mailer", "store", "login", "search", "charts", "theme"),
    "sealed": ("parser", "cache", "router", "index", "export", "audit"),
}
NEEDS = {"practice": ("{} after {}", " and "), "sealed": ("{} needs {}", ", ")}
DONE = {"practice": "Finished: {}", "sealed": "Built so far: {}"}


def ready(rng: random.Random, side: Side) -> Iterator[Question]:
    wording, comma = NEEDS[side]
    for size, count in rounds(((3, 1), (3, 2), (4, 1), (4, 2), (5, 2), (5, 3)), rng):
        order = rng.sample(PARTS[side], size)
        needs = {order[i]: rng.sample(order[:i], min(i, rng.choice((1, 1, 2)))) for i in range(1, len(order))}
        done = order[:count]
        possible = [name for name in order[count:] if set(needs[name]) <= set(done)]
        if len(possible) == 1:
            lines = [wording.format(name, comma.join(needs[name])) for name in rng.sample(list(needs), len(needs))]
            finished = DONE[side].format(comma.join(rng.sample(done, count)))
            yield Question("\n".join([*lines, finished]), possible[0])


STEP_SYSTEM = (
    "Name the next move. First read. After a read, edit. Edit saved: test. Edit refused: read again. "
    "Test failed: edit, but ask after the third failed test. Test passed: finish."
)
STEP_EXAMPLES = (
    ("Fix a.py\nread: 5 lines", "edit"),
    ("Fix b.js\nread: 8 lines\nedit: saved", "test"),
    ("Fix c.c\nread: 6 lines\nedit: saved\ntest: passed", "finish"),
    ("Fix d.go\nread: 9 lines\nedit: refused", "read"),
)
FAILED_SYSTEM = "One step failed and was not made good by the same call later. Name it."
FAILED_EXAMPLES = (
    ("s1 read x.md: 9 lines\ns2 run x.sh: exit 1\ns3 edit x.md: saved", "s2"),
    ("s1 run y.sh: exit 1\ns2 run y.sh: exit 0\ns3 edit y.md: text not found", "s3"),
)
RETRY_SYSTEM = (
    "The fault will pass: retry. The call is wrong: fix. A right or a login is missing: ask. "
    "It was the last attempt allowed: stop, whatever the fault."
)
RETRY_EXAMPLES = (
    ("ping, 1 of 2: line is busy", "retry"),
    ("copy, 1 of 2: bad file name", "fix"),
    ("print, 1 of 2: only the owner may do this", "ask"),
    ("ping, 2 of 2: line is busy", "stop"),
)
LEFT_EXAMPLES = (
    ("700 tokens, 2 turns of 200 used. Left?", "300"),
    ("used 25, limit 38, left 13\nLeft?", "13"),
    ("9 calls allowed, used 2 and 3. Left?", "4"),
    ("limit 71, left 52, used 19\nLeft?", "52"),
    ("8 tries allowed, 3 used. Left?", "5"),
)
READY_EXAMPLES = (
    ("lamp: wire\nroom: lamp\nReady: wire", "lamp"),
    ("door: wall + hinge\nroom: door\nReady: hinge + wall", "door"),
)

FAMILIES = (
    Family("step", STEP_SYSTEM, "choice", step, examples=STEP_EXAMPLES),
    Family("failed", FAILED_SYSTEM, "normalised", failed, examples=FAILED_EXAMPLES, max_tokens=6),
    Family("retry", RETRY_SYSTEM, "choice", retry, examples=RETRY_EXAMPLES),
    Family("left", "Answer with the number that is left.", "numeric", left, examples=LEFT_EXAMPLES, max_tokens=8),
    Family(
        "ready",
        "Name the one part that can be built next: it is not built yet, and all it needs is.",
        "normalised",
        ready,
        examples=READY_EXAMPLES,
        max_tokens=6,
    ),
)
