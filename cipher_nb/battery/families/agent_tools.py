"""agent tools: which tool serves a request, and the call that does it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "agent tools"

FILES = {
    "practice": (
        "app.py",
        "README.md",
        "setup.cfg",
        "src/main.c",
        "notes.txt",
        "tests/test_io.py",
        "Makefile",
        "index.html",
        "models.py",
        "routes.ts",
        "go.mod",
        "schema.sql",
        "deploy.sh",
        "data/users.csv",
        "package.json",
        "server.rb",
        "views/home.html",
        "Cargo.toml",
        "lexer.rs",
        "plot.ipynb",
        "icons.svg",
        "hooks.js",
        "queue.go",
        "cache.h",
    ),
    "sealed": (
        "cli.py",
        "LICENSE",
        "tox.ini",
        "lib/util.js",
        "todo.md",
        "docs/usage.rst",
        "Dockerfile",
        "style.css",
        "forms.py",
        "store.ts",
        "pom.xml",
        "seed.sql",
        "build.sh",
        "data/prices.csv",
        "tsconfig.json",
        "worker.rb",
        "pages/login.html",
        "config.toml",
        "parser.rs",
        "report.ipynb",
        "logo.svg",
        "timer.js",
        "mail.go",
        "list.h",
    ),
}
CALLS = {
    "practice": {
        "read": ("Show me {}", "What is in {}?", "Print {}"),
        "delete": ("Delete {}", "Throw {} away", "Remove the file {}"),
        "test": ("Test {}", "Run the tests of {}", "Do the tests in {} pass?"),
    },
    "sealed": {
        "read": ("Open {}", "Let me see {}", "Read {} please"),
        "delete": ("Get rid of {}", "Erase {}", "Please delete {}"),
        "test": ("Check {} with its tests", "Please test {}", "Execute the test suite for {}"),
    },
}


def call(rng: random.Random, side: Side) -> Iterator[Question]:
    for tool in rounds(list(CALLS[side]), rng):
        file = rng.choice(FILES[side])
        yield Question(
            f"JSON for: {rng.choice(CALLS[side][tool]).format(file)}", json.dumps({"tool": tool, "path": file})
        )


TOOLS = ("read", "search", "delete", "run")
REQUESTS = {
    "practice": {
        "read": ("What does {} say?", "Show the text of {}."),
        "search": ("Where is {} mentioned?", "Find all uses of {}."),
        "delete": ("Remove {} for good.", "Throw {} away."),
        "run": ("Execute {}.", "Start {} and tell me its output."),
    },
    "sealed": {
        "read": ("Let me see {}.", "Open {} and quote it."),
        "search": ("Look for {} in the project.", "Which files refer to {}?"),
        "delete": ("Get rid of {}.", "Erase {} from the disk."),
        "run": ("Launch {}.", "Run the script {}."),
    },
}


def route(rng: random.Random, side: Side) -> Iterator[Question]:
    for tool in rounds(TOOLS, rng):
        yield Question(rng.choice(REQUESTS[side][tool]).format(rng.choice(FILES[side])), tool, TOOLS)


CALL_EXAMPLES = (
    ("JSON for: look at a.txt", '{"tool": "read", "path": "a.txt"}'),
    ("JSON for: drop b.md", '{"tool": "delete", "path": "b.md"}'),
    ("JSON for: try the tests in c.py", '{"tool": "test", "path": "c.py"}'),
    ("JSON for: erase d/e.c", '{"tool": "delete", "path": "d/e.c"}'),
    ("JSON for: show f/g.py", '{"tool": "read", "path": "f/g.py"}'),
    ("JSON for: run the test suite of h.js", '{"tool": "test", "path": "h.js"}'),
)
ROUTE_EXAMPLES = (
    ("Look at a.txt.", "read"),
    ("Drop b.md.", "delete"),
    ("Try d.sh.", "run"),
    ("Grep for e.h.", "search"),
)

FAMILIES = (
    Family("call", "Answer with the tool call as JSON.", "json", call, examples=CALL_EXAMPLES, max_tokens=24),
    Family("route", "Name the tool that serves the request.", "choice", route, examples=ROUTE_EXAMPLES),
)
