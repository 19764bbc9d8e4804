"""keybindings: reading a keymap, and writing a chord the way keymap files spell it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "keybindings"

USUAL = {
    "C": "copy",
    "V": "paste",
    "X": "cut",
    "Z": "undo",
    "Y": "redo",
    "S": "save",
    "F": "find",
    "P": "print",
    "N": "new",
    "O": "open",
    "W": "close",
    "H": "replace",
}
MEANING = {
    "practice": "What does Ctrl+{} do: {}, {} or {}?",
    "sealed": "{1}, {2} or {3}: pressing Ctrl+{0} means",
}

KEYS = {
    "practice": (*"abcdefghijklm", "f1", "f2", "f3", "f4", "f5", "f6"),
    "sealed": (*"nopqrstuvwxyz", "f7", "f8", "f9", "f10", "f11", "f12"),
}
MODIFIERS = (("Control", "ctrl"), ("Shift", "shift"), ("Alt", "alt"))
SPELL = {
    "practice": ("Hold {} and hit {}.", "Keep {} pressed, then tap {}."),
    "sealed": ("{} with the {} key", "{} together with {}"),
}


def usual(rng: random.Random, side: Side) -> Iterator[Question]:
    for key in rounds(list(USUAL), rng):
        others = rng.sample([action for action in USUAL.values() if action != USUAL[key]], 2)
        choices = tuple(rng.sample([USUAL[key], *others], 3))
        yield Question(MEANING[side].format(key, *choices), USUAL[key], choices)


def spell(rng: random.Random, side: Side) -> Iterator[Question]:
    for key in rounds(KEYS[side], rng):
        held = sorted(rng.sample(range(3), rng.randint(1, 3)))
        names = " and ".join(MODIFIERS[i][0] for i in held)
        yield Question(
            rng.choice(SPELL[side]).format(names, key.upper()), "+".join([*(MODIFIERS[i][1] for i in held), key])
        )


USUAL_EXAMPLES = (
    ("What is Ctrl+A for: italic, select or quit?", "select"),
    ("What is Ctrl+I for: quit, select or italic?", "italic"),
    ("What is Ctrl+Q for: quit, italic or bold?", "quit"),
)
SPELL_EXAMPLES = (
    ("Control and 1", "ctrl+1"),
    ("Shift and Alt and 2", "shift+alt+2"),
    ("Control and Alt and 3", "ctrl+alt+3"),
)

FAMILIES = (
    Family("usual", "Say in one word what the shortcut does.", "choice", usual, examples=USUAL_EXAMPLES),
    Family("spell", "Write the chord as a keymap file does.", "exact", spell, examples=SPELL_EXAMPLES),
)
