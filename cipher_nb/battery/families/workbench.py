"""workbench: which view opens a file, where panels stand, and what a row of tabs and the focus become."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from cipher_nb.battery.family import Family, Question, rounds, vocabulary
from cipher_nb.battery.samples import Side

CATEGORY = "workbench"

VIEWS = vocabulary(practice="grid preview source notebook diff", sealed="table reader code canvas compare")
STEMS = vocabulary(practice="notes users plot main deploy", sealed="guide sales chart server backup")
FOLDERS = vocabulary(practice="docs src tests", sealed="wiki lib specs")
SUFFIXES = vocabulary(practice="md csv ipynb py", sealed="rst tsv qmd ts")
OPEN = {"practice": "Opening {} -> ?", "sealed": "So {} -> ?"}


def view(rng: random.Random, side: Side) -> Iterator[Question]:
    for place in rounds((0, 1, 2), rng):
        patterns = _patterns(rng, side)
        views = rng.sample(VIEWS[side], 3)
        fitting = [path for path in _paths(side) if first_match(path, patterns) == place]
        if fitting:
            lines = "\n".join(" -> ".join(rule) for rule in zip(patterns, views, strict=True))
            yield Question(f"{lines}\n{OPEN[side].format(rng.choice(fitting))}", views[place])


def first_match(path: str, patterns: list[str]) -> int:
    return next(place for place, pattern in enumerate(patterns) if fnmatchcase(path, pattern))


def _patterns(rng: random.Random, side: Side) -> list[str]:
    kinds = (f"{rng.choice(FOLDERS[side])}/*", f"*{rng.choice(STEMS[side])}.*", f"*.{rng.choice(SUFFIXES[side])}")
    return [*rng.sample(kinds, 2), "*"]


def _paths(side: Side) -> list[str]:
    return [
        f"{folder}/{stem}.{suffix}" for folder in FOLDERS[side] for stem in STEMS[side] for suffix in SUFFIXES[side]
    ]


PANELS = vocabulary(practice="editor terminal outline chat problems", sealed="files console minimap history search")
KEYS = {"practice": ("next", "back"), "sealed": ("tab", "shift-tab")}
FOCUS = {"practice": "Order: {}. Focus: {}. Keys: {}.", "sealed": "[{}] with {} focused, then press {}."}


def focus(rng: random.Random, side: Side) -> Iterator[Question]:
    for presses in rounds((1, 1, 2, 2, 3), rng):
        panels = rng.sample(PANELS[side], 4)
        start = rng.randrange(4)
        steps = [rng.choice((1, 1, -1)) for _ in range(presses)]
        pressed = ", ".join(KEYS[side][step < 0] for step in steps)
        text = FOCUS[side].format(", ".join(panels), panels[start], pressed)
        yield Question(text, panels[(start + sum(steps)) % 4], tuple(sorted(panels)))


FILES = vocabulary(
    practice="app.py io.py todo.md main.c run.sh x.csv", sealed="cli.rs log.txt faq.md view.js env.ini map.svg"
)
TABS = {"practice": "Tabs {}: {}", "sealed": "{}: {}"}
CHANGES = {
    "practice": {"open": "open {}", "close": "close {}", "first": "move {} to the front", "last": "move {} to the end"},
    "sealed": {"open": "open {}", "close": "close {}", "first": "put {} first", "last": "put {} last"},
}


def tabs(rng: random.Random, side: Side) -> Iterator[Question]:
    for length in rounds((1, 1, 2, 3), rng):
        shown = rng.sample(FILES[side], rng.choice((2, 3)))
        at_first, told = " ".join(shown), []
        for change in rng.choices(("open", "close", "first", "last"), k=length):
            name = rng.choice([file for file in FILES[side] if changed(shown, change, file) != shown])
            shown = changed(shown, change, name)
            told.append(CHANGES[side][change].format(name))
            if len(shown) < 2:
                break
        yield Question(TABS[side].format(at_first, ", ".join(told)), json.dumps(shown))


def changed(shown: list[str], change: str, name: str) -> list[str]:
    """Return the tabs after the change, the same where it cannot be made; an opened one comes last."""
    if (name in shown) == (change == "open"):
        return shown
    others = [each for each in shown if each != name]
    return {"close": others, "first": [name, *others]}.get(change, [*others, name])


PLACES = ("left", "right", "top", "bottom")
STANDS = {"practice": "{}: {}", "sealed": "{} at {}"}
MOVES: Mapping[Side, Mapping[str, str]] = {
    "practice": {"move": "Move {0} to the {1}.", "swap": "Swap {0} and {2}."},
    "sealed": {"move": "Then {0} goes {1}.", "swap": "Now {0} and {2} trade places."},
}
WHERE = {"practice": "Where is {}?", "sealed": "Side of {}?"}


def place(rng: random.Random, side: Side) -> Iterator[Question]:
    for length, wanted in rounds([(length, side_) for length in (0, 1, 2, 3) for side_ in PLACES], rng):
        panels = rng.sample(PANELS[side], 3)
        stands = dict(zip(panels, rng.sample(PLACES, 3), strict=True))
        told = [", ".join(STANDS[side].format(*each) for each in stands.items()) + "."]
        for _ in range(length):
            first, second = rng.sample(panels, 2)
            free = next(each for each in PLACES if each not in stands.values())
            kind = rng.choice(("move", "swap"))
            told.append(MOVES[side][kind].format(first, free, second))
            stands |= {first: free} if kind == "move" else {first: stands[second], second: stands[first]}
        asked = [panel for panel in panels if stands[panel] == wanted]
        if asked:
            yield Question(f"{' '.join(told)} {WHERE[side].format(asked[0])}", wanted, PLACES)


SIZES = {"practice": range(100, 400, 10), "sealed": range(400, 900, 10)}
ASKED = {
    "practice": "A {kind} panel named {name}, {low} to {high} wide, {shown}",
    "sealed": "{name} as {kind}, width {low} to {high}, {shown}",
}
SHOWN = {"practice": {True: "shown", False: "hidden"}, "sealed": {True: "visible", False: "invisible"}}
TITLES = vocabulary(practice="logs tasks plots cells notes", sealed="tests diffs costs links flags")


def panel(rng: random.Random, side: Side) -> Iterator[Question]:
    for shown in rounds((True, False), rng):
        low, name, kind = rng.choice(SIZES[side]), rng.choice(TITLES[side]), rng.choice(VIEWS[side])
        high = low + rng.choice((10, 20, 50))
        wanted = {"name": name, "kind": kind, "visible": shown}
        rules = {key: {"const": value} for key, value in wanted.items()}
        schema = {
            "type": "object",
            "properties": {**rules, "width": {"type": "integer", "minimum": low, "maximum": high}},
            "required": ["name", "kind", "width", "visible"],
            "additionalProperties": False,
        }
        reference = {"name": name, "kind": kind, "width": rng.randrange(low, high + 1, 10), "visible": shown}
        text = ASKED[side].format(kind=kind, name=name, low=low, high=high, shown=SHOWN[side][shown])
        yield Question(text, json.dumps(schema), reference=json.dumps(reference))


VIEW_EXAMPLES = (
    ("art/* -> album\n*cat.* -> pet\n* -> plain\nhome/cat.bmp -> ?", "pet"),
    ("*.bmp -> image\nart/* -> album\n* -> plain\nart/dog.bmp -> ?", "image"),
    ("art/* -> album\n*.bmp -> image\n* -> plain\nhome/cat.doc -> ?", "plain"),
    ("*.wav -> sound\nart/* -> album\n* -> plain\nart/fox.doc -> ?", "album"),
)
FOCUS_EXAMPLES = (
    ("kitchen, hall, attic, garden. At hall. forward", "attic"),
    ("attic, garden, kitchen, hall. At hall. forward, forward", "garden"),
    ("hall, attic, garden, kitchen. At hall. backward", "kitchen"),
)
TABS_EXAMPLES = (
    ("cat.x dog.x: open owl.x", '["cat.x", "dog.x", "owl.x"]'),
    ("owl.x cat.x dog.x: close cat.x", '["owl.x", "dog.x"]'),
    ("dog.x fox.x cat.x: send cat.x first, open owl.x", '["cat.x", "dog.x", "fox.x", "owl.x"]'),
    ("owl.x fox.x: send owl.x last", '["fox.x", "owl.x"]'),
)
PLACE_EXAMPLES = (
    ("sofa left, lamp top, desk right. lamp to bottom. lamp?", "bottom"),
    ("desk top, sofa left, lamp right. Exchange desk with lamp. desk?", "right"),
    ("lamp bottom, sofa right, desk top. sofa to left. desk?", "top"),
)
PANEL_EXAMPLES = (
    ("cats in plain, width 20 to 30, in sight", '{"name": "cats", "kind": "plain", "width": 20, "visible": true}'),
    ("dogs in image, width 50 to 60, out of sight", '{"name": "dogs", "kind": "image", "width": 50, "visible": false}'),
    ("owls in sound, width 70 to 75, in sight", '{"name": "owls", "kind": "sound", "width": 70, "visible": true}'),
)

FAMILIES = (
    Family(
        "view",
        "The first rule that matches opens the file; * stands for any characters. Name the view.",
        "normalised",
        view,
        examples=VIEW_EXAMPLES,
    ),
    Family(
        "focus",
        "Keys move the focus forward or backward in the order of the panels, around the ends. Where is it in the end?",
        "choice",
        focus,
        examples=FOCUS_EXAMPLES,
    ),
    Family(
        "tabs",
        "Write the row of tabs after the changes as a JSON array. A new tab comes last.",
        "json",
        tabs,
        examples=TABS_EXAMPLES,
        max_tokens=40,
    ),
    Family(
        "place",
        "Say where the panel is in the end: left, right, top or bottom.",
        "choice",
        place,
        examples=PLACE_EXAMPLES,
    ),
    Family(
        "panel",
        "Write the panel as JSON with name, kind, width (a whole number) and visible.",
        "schema",
        panel,
        examples=PANEL_EXAMPLES,
        max_tokens=40,
    ),
)
