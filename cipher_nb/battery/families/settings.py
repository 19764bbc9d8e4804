"""settings: reading a value out of a settings file, and telling what type a setting takes."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "settings"

VALUES = {
    "practice": {
        "editor.tabSize": ("2", "3", "4", "8"),
        "editor.fontSize": ("11", "12", "13", "14", "16"),
        "files.autoSave": ("off", "onFocusChange", "afterDelay"),
        "terminal.shell": ("bash", "zsh", "fish"),
        "git.autofetch": ("true", "false"),
        "search.smartCase": ("true", "false"),
    },
    "sealed": {
        "editor.rulers": ("72", "80", "100", "120"),
        "window.zoomLevel": ("0", "1", "2", "3"),
        "files.eol": ("auto", "unix", "windows"),
        "workbench.theme": ("dark", "light", "contrast"),
        "editor.wordWrap": ("on", "off", "bounded"),
        "debug.openConsole": ("always", "never"),
    },
}
READ = {"practice": "What is {} set to?", "sealed": "Give the value of {}."}


def read(rng: random.Random, side: Side) -> Iterator[Question]:
    for key in rounds(list(VALUES[side]), rng):
        others = rng.sample([other for other in VALUES[side] if other != key], 2)
        values = {name: rng.choice(VALUES[side][name]) for name in rng.sample([key, *others], 3)}
        text = "\n".join(f"{name} = {value}" for name, value in values.items())
        yield Question(f"{text}\n{READ[side].format(key)}", values[key])


SECTIONS = ("editor", "files", "git", "http", "terminal", "search", "debug", "test", "lint", "notebook")
NAMES = {
    "practice": {
        "boolean": ("enabled", "trim", "onSave", "showHidden", "autoClose", "verbose"),
        "number": ("lineHeight", "maxSize", "timeout", "limit", "retries", "width"),
        "string": ("email", "path", "level", "locale", "author", "prefix"),
    },
    "sealed": {
        "boolean": ("strict", "sign", "watch", "confirm", "autoFetch", "quiet"),
        "number": ("cursorWidth", "rows", "delay", "depth", "port", "maxCount"),
        "string": ("folder", "branch", "version", "encoding", "shell", "title"),
    },
}
TYPED = {
    "boolean": ("true", "false"),
    "number": ("7", "15", "250", "0.5", "33", "6", "40", "1000", "2.5", "18"),
    "string": ('"main"', '"info"', '"/usr/bin"', '"blue"', '"a b"', '"en"', '"dev"', '"/tmp"', '"v 2"'),
}


def kind(rng: random.Random, side: Side) -> Iterator[Question]:
    for name in rounds(list(TYPED), rng):
        key = f"{rng.choice(SECTIONS)}.{rng.choice(NAMES[side][name])}"
        yield Question(f"{key} = {rng.choice(TYPED[name])}", name, tuple(TYPED))


READ_EXAMPLES = (
    ("lint.level = strict\nuser.lang = en\nmail.port = 25\nValue of user.lang?", "en"),
    ("mail.port = 99\nlint.level = loose\nuser.lang = fr\nValue of mail.port?", "99"),
)
KIND_EXAMPLES = (
    ("app.on = true", "boolean"),
    ("app.size = 12", "number"),
    ('app.title = "hello"', "string"),
    ("app.wait = 3.5", "number"),
    ('app.home = "/home"', "string"),
    ("app.off = false", "boolean"),
    ("app.rate = 90", "number"),
)

FAMILIES = (
    Family("read", "Answer with the value only.", "exact", read, examples=READ_EXAMPLES),
    Family("kind", "Answer with one word: boolean, number or string.", "choice", kind, examples=KIND_EXAMPLES),
)
