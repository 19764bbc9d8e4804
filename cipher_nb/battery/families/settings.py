"""settings: reading values and their types, which layer decides, changing a file, and what a setting allows."""

from __future__ import annotations

import json
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
        "boolean": (
            *("enabled", "trim", "onSave", "showHidden", "autoClose"),
            *("verbose", "wrap", "compact", "pinned", "beta"),
        ),
        "number": ("lineHeight", "maxSize", "timeout", "limit", "retries", "width"),
        "string": ("email", "path", "level", "locale", "author", "prefix"),
    },
    "sealed": {
        "boolean": (
            *("strict", "sign", "watch", "confirm", "autoFetch"),
            *("quiet", "sticky", "animate", "inline", "unsafe"),
        ),
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


LAYERS = ("default", "user", "workspace")
IN_FORCE = {"practice": "{} in force?", "sealed": "{} now?"}


def precedence(rng: random.Random, side: Side) -> Iterator[Question]:
    """One, two or three layers set the asked key; another key stands among them."""
    for setting in rounds([(0,), (0, 1), (0, 2), (0, 1, 2)], rng):
        key, other = rng.sample([name for name, values in VALUES[side].items() if len(values) > 2], 2)
        values = dict(zip(setting, rng.sample(VALUES[side][key], len(setting)), strict=True))
        elsewhere = rng.choice([layer for layer in range(3) if layer not in setting] or [0])
        lines = [f"{LAYERS[layer]} {key} = {value}" for layer, value in values.items()]
        lines.append(f"{LAYERS[elsewhere]} {other} = {rng.choice(VALUES[side][other])}")
        rng.shuffle(lines)
        yield Question("\n".join([*lines, IN_FORCE[side].format(key)]), values[setting[-1]])


PATCH_KEYS = {
    "practice": ("tabSize", "fontSize", "margin", "history", "columns", "spacing"),
    "sealed": ("rulers", "zoom", "padding", "backups", "lines", "indent"),
}
PATCH_SECTIONS = {"practice": ("editor", "files", "shell", "git"), "sealed": ("window", "panel", "debug", "search")}
PATCH_VALUES = {"practice": range(2, 40), "sealed": range(40, 90)}
PATCH_ASKS = {
    "practice": {
        "replace": "{section}.{key} to {value}",
        "remove": "without {section}.{key}",
        "add": "{section}.{key} to {value}",
    },
    "sealed": {
        "replace": "have {section}.{key} at {value}",
        "remove": "take out {section}.{key}",
        "add": "have {section}.{key} at {value}",
    },
}


def patch(rng: random.Random, side: Side) -> Iterator[Question]:
    for op in rounds(("replace", "remove", "add"), rng):
        section = rng.choice(PATCH_SECTIONS[side])
        first, second, new = rng.sample(PATCH_KEYS[side], 3)
        *old, value = rng.sample(PATCH_VALUES[side], 3)
        present = dict(zip(rng.choice(((first,), (first, second))), old, strict=False))
        key = new if op == "add" else rng.choice(list(present))
        file = json.dumps({section: present})
        change: dict[str, object] = {"op": op, "path": f"/{section}/{key}"}
        if op != "remove":
            change["value"] = value
        yield Question(
            f"{file}\n{PATCH_ASKS[side][op].format(section=section, key=key, value=value)}", json.dumps(change)
        )


VERDICTS = ("fine", "low", "high", "type")
LIMITS = {"practice": range(2, 50), "sealed": range(50, 99)}
LIMITED = {
    "practice": "{name}: {low} to {high}\n{name} = {value}",
    "sealed": "{name} takes {low}..{high}\n{name} = {value}",
}


def check(rng: random.Random, side: Side) -> Iterator[Question]:
    """Two thirds of the fine values are a bound; a third of the low and high ones are next to one."""
    for verdict in rounds(VERDICTS, rng):
        low, value, high = sorted(rng.sample(LIMITS[side], 3))
        off = rng.choice((1, rng.randint(2, 9), rng.randint(10, 40)))
        shown = {
            "fine": str(rng.choice((low, value, high))),
            "low": str(low - off),
            "high": str(high + off),
            "type": rng.choice((f'"{value}"', f"{value}.5", "true", "null")),
        }
        name = f"{rng.choice(SECTIONS)}.{rng.choice(NAMES[side]['number'])}"
        text = LIMITED[side].format(name=name, low=low, high=high, value=shown[verdict])
        yield Question(text, verdict, VERDICTS)


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

PRECEDENCE_EXAMPLES = (
    ("user mail.port = 25\ndefault mail.port = 99\nmail.port right now?", "25"),
    ("default lint.level = loose\nworkspace mail.port = 25\nlint.level right now?", "loose"),
    ("workspace user.lang = fr\nuser user.lang = en\ndefault user.lang = de\nuser.lang right now?", "fr"),
)
PATCH_EXAMPLES = (
    (
        '{"mail": {"port": 1, "wait": 101}}\nset mail.port to 120',
        '{"op": "replace", "path": "/mail/port", "value": 120}',
    ),
    ('{"lint": {"level": 115, "size": 1}}\ndrop lint.level', '{"op": "remove", "path": "/lint/level"}'),
    ('{"mail": {"wait": 99}}\nset mail.size to 1', '{"op": "add", "path": "/mail/size", "value": 1}'),
)
CHECK_EXAMPLES = (
    ("app.size from 100 to 120\napp.size = 110", "fine"),
    ("app.rate from 101 to 130\napp.rate = 99", "low"),
    ("app.wait from 100 to 111\napp.wait = 140", "high"),
    ('app.size from 110 to 115\napp.size = "112"', "type"),
    ("app.rate from 104 to 121\napp.rate = 121", "fine"),
)

FAMILIES = (
    Family("read", "Answer with the value only.", "normalised", read, examples=READ_EXAMPLES),
    Family("kind", "Answer with one word: boolean, number or string.", "choice", kind, examples=KIND_EXAMPLES),
    Family(
        "precedence",
        "Answer with the value in force: workspace beats user, user beats default.",
        "normalised",
        precedence,
        examples=PRECEDENCE_EXAMPLES,
    ),
    Family(
        "patch",
        "Give the JSON Patch operation: replace a key that is there, add one that is not, or remove one.",
        "json",
        patch,
        examples=PATCH_EXAMPLES,
        max_tokens=32,
    ),
    Family(
        "check",
        "Whole numbers only, both bounds allowed. Answer fine, low, high or type (not a whole number).",
        "choice",
        check,
        examples=CHECK_EXAMPLES,
    ),
)
