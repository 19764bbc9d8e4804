"""agent tools: which tool serves a request, the call that does it, whether a call fits, and what its output says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "agent tools"

FILES = {
    "practice": (
        "README.md",
        "setup.cfg",
        "notes.txt",
        "Makefile",
        "index.html",
        "schema.sql",
        "data/users.csv",
        "go.mod",
    ),
    "sealed": (
        "LICENSE",
        "tox.ini",
        "todo.md",
        "docs/usage.rst",
        "Dockerfile",
        "style.css",
        "data/prices.csv",
        "pom.xml",
    ),
}
CODE = {
    "practice": ("app.py", "models.py", "routes.ts", "server.rb", "lexer.rs", "hooks.js", "queue.go", "deploy.sh"),
    "sealed": ("cli.py", "forms.py", "store.ts", "worker.rb", "parser.rs", "timer.js", "mail.go", "build.sh"),
}
FOLDERS = {
    "practice": ("src", "app", "tests", "views", "tools"),
    "sealed": ("lib", "core", "pages", "scripts", "jobs"),
}
WORDS = {
    "practice": ("cache", "retry", "login", "size", "footer"),
    "sealed": ("token", "header", "logout", "parse", "delay"),
}
SMALL = {"practice": range(2, 30), "sealed": range(30, 99)}

CALLS = {
    "practice": {
        "read": ("Show me {}", "What is in {}?", "Print {}", "Display {}"),
        "delete": ("Delete {}", "Throw {} away", "Remove the file {}", "{} can go"),
        "test": ("Test {}", "Run the tests of {}", "Do the tests in {} pass?", "Does {} pass its tests?"),
    },
    "sealed": {
        "read": ("Open {}", "Let me see {}", "Read {} please", "I want to look into {}"),
        "delete": ("Get rid of {}", "Erase {}", "Please delete {}", "I no longer need {}"),
        "test": ("Check {} with its tests", "Please test {}", "Execute the test suite for {}", "Run tests on {}"),
    },
}
RENAME = {
    "practice": ("Rename {} to {}", "Give {} the name {}"),
    "sealed": ("Call {} from now on {}", "Let {} become {}"),
}


def call(rng: random.Random, side: Side) -> Iterator[Question]:
    for tool in rounds((*CALLS[side], "rename"), rng):
        if tool == "rename":
            path = _script(rng, side)
            to = _other_name(path, rng, side)
            text, arguments = rng.choice(RENAME[side]).format(path, to), {"path": path, "to": to}
        else:
            path = _script(rng, side) if tool == "test" or rng.random() < 0.5 else rng.choice(FILES[side])
            text, arguments = rng.choice(CALLS[side][tool]).format(path), {"path": path}
        yield Question(f"JSON for: {text}", json.dumps({"tool": tool, **arguments}))


def _script(rng: random.Random, side: Side) -> str:
    folder = rng.choice(("", *FOLDERS[side]))
    return f"{folder}/{rng.choice(CODE[side])}".lstrip("/")


def _other_name(path: str, rng: random.Random, side: Side) -> str:
    return f"{rng.choice(WORDS[side])}.{path.rpartition('.')[2]}"


TOOLS = ("read", "search", "delete", "run")
REQUESTS = {
    "practice": {
        "read": ("What does {} say?", "Show the text of {}.", "How does {} begin?", "Print what {} holds."),
        "search": ("Where is {} mentioned?", "Find all uses of {}.", "Who imports {}?", "List files that name {}."),
        "delete": ("Remove {} for good.", "Throw {} away.", "{} is of no use: out with it.", "Clear {} off the disk."),
        "run": (
            "Execute {}.",
            "Start {} and tell me its output.",
            "Kick {} off.",
            "Let {} do its work.",
        ),
    },
    "sealed": {
        "read": (
            "Let me see {}.",
            "Open {} and quote it.",
            "What are the last lines of {}?",
            "I wonder what {} contains.",
        ),
        "search": (
            "Look for {} in the project.",
            "Which files refer to {}?",
            "Is {} used anywhere?",
            "Find links to {}.",
        ),
        "delete": ("Get rid of {}.", "Erase {} from the disk.", "I never want {} back.", "{} was a mistake, drop it."),
        "run": ("Launch {}.", "Run the script {}.", "Does {} exit with 0?", "Try {} and report its exit code."),
    },
}


def route(rng: random.Random, side: Side) -> Iterator[Question]:
    for tool in rounds(TOOLS, rng):
        yield Question(rng.choice(REQUESTS[side][tool]).format(_script(rng, side)), tool, TOOLS)


SIGNATURES: dict[Side, dict[str, tuple[str, ...]]] = {
    "practice": {
        "show(path)": ("Show {path}.", "What is in {path}?"),
        "find(text, folder, limit)": ('Find "{text}" below {folder}, at most {limit} hits.',),
        "read(path, start, end)": ("Show {path}, lines {start} to {end}.",),
        "move(path, to)": ("Move {path} to {to}.",),
        "replace(path, old, new)": ("Change {old} to {new} in {path}.",),
        "run(script, timeout)": ("Start {script}, but kill it after {timeout} seconds.",),
    },
    "sealed": {
        "load(path)": ("Please load {path}.", "I should like {path} loaded."),
        "grep(folder, limit, text)": ("{limit} hits are enough: look through {folder} for `{text}`.",),
        "view(end, path, start)": ("I need what stands from line {start} up to line {end} of {path}.",),
        "rename(to, path)": ("From now on {path} is called {to}.", "{to} would be a better name for {path}."),
        "edit(new, old, path)": ("In {path}, put {new} where it says {old}.", "{path} should say {new}, not {old}."),
        "execute(timeout, script)": ("Give {script} {timeout} seconds and no more.",),
    },
}


def argument(rng: random.Random, side: Side) -> Iterator[Question]:
    for signature in rounds(list(SIGNATURES[side]), rng):
        path = _script(rng, side)
        old, new = rng.sample(WORDS[side], 2)
        start = rng.choice(SMALL[side])
        values = {
            "text": rng.choice(WORDS[side]),
            "folder": rng.choice(FOLDERS[side]),
            "limit": str(rng.choice(SMALL[side])),
            "path": path,
            "start": str(start),
            "end": str(start + rng.randrange(1, 30)),
            "to": _other_name(path, rng, side),
            "old": old,
            "new": new,
            "script": _script(rng, side),
            "timeout": str(rng.choice(SMALL[side])),
        }
        wanted = rng.choice(signature.split("(")[1].strip(")").split(", "))
        request = rng.choice(SIGNATURES[side][signature]).format(**values)
        yield Question(f"{signature}\n{request}\n{wanted} =", values[wanted])


FAULTS = ("valid", "missing", "unknown", "type")
PARAMETERS = {
    "practice": {"pattern": "string", "limit": "integer", "force": "boolean", "query": "string", "depth": "integer"},
    "sealed": {"prefix": "string", "line": "integer", "quiet": "boolean", "text": "string", "width": "integer"},
}
STRANGERS = {"practice": ("mode", "level", "dir"), "sealed": ("kind", "size", "target")}
CALLED = {"practice": ("list", "scan", "load"), "sealed": ("show", "wrap", "mark")}


def fault(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind in rounds(FAULTS, rng):
        names = rng.sample(list(PARAMETERS[side]), 3)
        optional = names[2] if rng.random() < 0.6 else ""
        given = [name for name in names if name != optional or rng.random() < 0.5]
        if kind == "missing":
            given.remove(rng.choice([name for name in names if name != optional]))
        arguments = {name: _value(PARAMETERS[side][name], rng, side) for name in given}
        if kind == "unknown":
            arguments[rng.choice(STRANGERS[side])] = _value(rng.choice(("string", "integer")), rng, side)
        if kind == "type":
            wrong = rng.choice(given)
            others = [other for other in ("string", "integer", "boolean") if other != PARAMETERS[side][wrong]]
            arguments[wrong] = _value(rng.choice(others), rng, side)
        shown = ", ".join(f"{name}{'?' * (name == optional)}: {PARAMETERS[side][name]}" for name in names)
        shuffled = {name: arguments[name] for name in rng.sample(list(arguments), len(arguments))}
        yield Question(f"{rng.choice(CALLED[side])}({shown})\n{json.dumps(shuffled)}", kind, FAULTS)


def _value(kind: str, rng: random.Random, side: Side) -> str | int | bool:
    if kind == "boolean":
        return rng.random() < 0.5
    return rng.choice(SMALL[side]) if kind == "integer" else rng.choice(WORDS[side])


OUTPUTS = {
    "practice": {
        "{a} rows sent by {x}": {"Rows?": "a", "Number sent?": "a"},
        "{a} passed, {b} failed, {c} skipped": {
            "How many failed?": "b",
            "How many were skipped?": "c",
            "All tests?": "abc",
        },
        "{x}: {a} insertions, {b} deletions\n{y}: {c} insertions": {"{y} insertions?": "c", "Insertions in all?": "ac"},
        "{x}:{a}: import {w}\n{y}:{b}: call {w}\n{y}:{c}: drop {w}": {
            "Line of the import?": "a",
            "Line of the call?": "b",
        },
        "{a} KB {x}\n{b} KB {y}\n{c} KB {z}": {"Size of {y}?": "b", "Size of {z}?": "c", "KB together?": "abc"},
        "$ {x}\nexit {a}\n$ {y}\nexit {b}\n$ {z}\nexit {c}": {"{x} exited with?": "a", "{z} exited with?": "c"},
    },
    "sealed": {
        "{x} wrote {a} bytes": {"Bytes written:": "a", "Size of what was written:": "a"},
        "Tests: {b} failed, {a} passed, {c} pending": {"Passed:": "a", "Pending:": "c", "Tests run or pending:": "abc"},
        "{x} +{a} -{b}\n{y} +{c} -0": {
            "Lines taken out of {x}:": "b",
            "Lines put into {y}:": "c",
            "Total added:": "ac",
        },
        "{x}({a}): {w} = 0\n{y}({b}): {w} += 1\n{z}({c}): print {w}": {
            "{w} is printed on line": "c",
            "{w} grows on line": "b",
        },
        "{x} {a} B\n{y} {b} B\n{z} {c} B": {"Bytes of {x}:": "a", "Bytes of {z}:": "c", "{x} and {y} together:": "ab"},
        "{x} ended: {a}\n{y} ended: {b}\n{z} ended: {c}": {"Exit code of {y}:": "b", "Exit code of {z}:": "c"},
    },
}


def output(rng: random.Random, side: Side) -> Iterator[Question]:
    for shape in rounds(list(OUTPUTS[side]), rng):
        x, y, z = rng.sample(CODE[side], 3)
        numbers = dict(zip("abc", rng.sample(SMALL[side], 3), strict=True))
        shown = {"x": x, "y": y, "z": z, "w": rng.choice(WORDS[side]), **numbers}
        asked, parts = rng.choice(list(OUTPUTS[side][shape].items()))
        text = f"{shape}\n{asked}".format(**shown)
        yield Question(text, str(sum(numbers[part] for part in parts)))


CALL_EXAMPLES = (
    ("JSON for: look at a.txt", '{"tool": "read", "path": "a.txt"}'),
    ("JSON for: drop b.md", '{"tool": "delete", "path": "b.md"}'),
    ("JSON for: try the tests in c.py", '{"tool": "test", "path": "c.py"}'),
    ("JSON for: make d.c into e.c", '{"tool": "rename", "path": "d.c", "to": "e.c"}'),
    ("JSON for: show f/g.py", '{"tool": "read", "path": "f/g.py"}'),
)
ROUTE_EXAMPLES = (
    ("Look at a.txt.", "read"),
    ("Drop b.md.", "delete"),
    ("Try d.sh.", "run"),
    ("Grep for e.h.", "search"),
)
ARGUMENT_EXAMPLES = (
    ("copy(path, to)\nMake b.py a copy of a.py.\nto =", "b.py"),
    ("tail(path, count)\nThe last 5 lines of c.log!\ncount =", "5"),
    ("ping(host, times)\nSee if d.net answers 3 times.\nhost =", "d.net"),
    ("send(file, person)\nMail e.txt to Zoe.\nperson =", "Zoe"),
)
FAULT_SYSTEM = (
    "Does the call fit the tool? Answer valid, missing (a required argument), unknown (an argument the tool has not) "
    "or type (a value of the wrong type). Arguments with ? may be left out."
)
FAULT_EXAMPLES = (
    ('go(a: string, b?: integer)\n{"a": "x"}', "valid"),
    ('go(a: string, b: integer)\n{"b": 1}', "missing"),
    ('go(a: string)\n{"a": "x", "c": 1}', "unknown"),
    ('go(a: string, b: integer)\n{"a": "x", "b": "y"}', "type"),
)
OUTPUT_EXAMPLES = (
    ("4 warnings, 1 error, 2 notes\nErrors?", "1"),
    ("a.txt 3 lines\nb.txt 8 lines\nLines of b.txt?", "8"),
    ("a.txt 5 lines\nb.txt 2 lines\nLines in both?", "7"),
    ("a.txt@6 x = y\nb.txt@9 y = x\nWhere is y set?", "9"),
)

FAMILIES = (
    Family("call", "Answer with the tool call as JSON.", "json", call, examples=CALL_EXAMPLES, max_tokens=32),
    Family("route", "Name the tool that serves the request.", "choice", route, examples=ROUTE_EXAMPLES),
    Family(
        "argument",
        "Which value does the request give to the argument? Answer with the value only.",
        "normalised",
        argument,
        examples=ARGUMENT_EXAMPLES,
        max_tokens=10,
    ),
    Family("fault", FAULT_SYSTEM, "choice", fault, examples=FAULT_EXAMPLES),
    Family("output", "Answer with the number asked for.", "numeric", output, examples=OUTPUT_EXAMPLES, max_tokens=8),
)
