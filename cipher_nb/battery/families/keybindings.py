"""keybindings: spelling a chord as a keymap file does, and telling where a binding works."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "keybindings"

KEYS = {
    "practice": (*"abcdefghijklm", "f1", "f2", "f3", "f4", "f5", "f6"),
    "sealed": (*"nopqrstuvwxyz", "f7", "f8", "f9", "f10", "f11", "f12"),
}
MODIFIERS = ("ctrl", "shift", "alt")
PARTS = ("editor", "terminal", "search", "debug", "notebook", "list")
CONDITIONS = {
    "practice": ("{}Active", "{}Ready", "on{}", "{}Shown"),
    "sealed": ("{}Focus", "{}Visible", "in{}", "{}Open"),
}


def spell(rng: random.Random, side: Side) -> Iterator[Question]:
    for key in rounds(KEYS[side], rng):
        held = rng.sample(range(len(MODIFIERS)), rng.choice((1, 2, 2, 3)))
        pressed = " + ".join([*(MODIFIERS[index].title() for index in held), key.upper()])
        yield Question(pressed, _chord(held, key))


def when(rng: random.Random, side: Side) -> Iterator[Question]:
    for part in rounds(PARTS, rng):
        held = rng.sample(range(len(MODIFIERS)), rng.choice((1, 2)))
        condition = rng.choice(CONDITIONS[side]).format(part)
        yield Question(f"{_chord(held, rng.choice(KEYS[side]))} when {condition}", part, PARTS)


def _chord(held: list[int], key: str) -> str:
    return "+".join([*(MODIFIERS[index] for index in sorted(held)), key])


SPELL_EXAMPLES = (
    ("Ctrl + 1", "ctrl+1"),
    ("Alt + Shift + Tab", "shift+alt+tab"),
    ("Ctrl + Alt + Home", "ctrl+alt+home"),
    ("Alt + 4", "alt+4"),
)
WHEN_EXAMPLES = (
    ("ctrl+1 when panelUsed", "panel"),
    ("alt+2 when tabUsed", "tab"),
    ("shift+3 when menuUsed", "menu"),
)

FAMILIES = (
    Family(
        "spell",
        "Write the chord as a keymap file does: ctrl, shift, alt, key.",
        "exact",
        spell,
        examples=SPELL_EXAMPLES,
    ),
    Family("when", "Name the part of the window where the keybinding works.", "choice", when, examples=WHEN_EXAMPLES),
)
