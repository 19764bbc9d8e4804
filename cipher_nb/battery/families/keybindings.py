"""keybindings: spelling chords as a keymap file does, writing entries, and telling which binding works where."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import product

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "keybindings"

KEYS = {
    "practice": (*"abcdefghijklm", "f1", "f2", "f3", "f4", "f5", "f6", "0", "2", "3", "left", "down", "insert"),
    "sealed": (*"nopqrstuvwxyz", "f7", "f8", "f9", "f10", "f11", "f12", "6", "7", "8", "right", "up", "delete"),
}
MODIFIERS = ("ctrl", "shift", "alt")
PARTS = ("editor", "terminal", "search", "debug", "notebook", "list")
CONDITIONS = {
    "practice": ("{0}Active", "{0}Ready", "on{1}", "{0}Shown"),
    "sealed": ("{0}Focus", "{0}Visible", "in{1}", "{0}Open"),
}
JOINTS = {"practice": (" + ", "-"), "sealed": (" + ", " ")}


def spell(rng: random.Random, side: Side) -> Iterator[Question]:
    for key in rounds(KEYS[side], rng):
        held = rng.sample(range(len(MODIFIERS)), rng.choice((1, 2, 2, 3)))
        pressed = rng.choice(JOINTS[side]).join([*(MODIFIERS[index].title() for index in held), key.title()])
        yield Question(pressed, _chord(held, key))


def when(rng: random.Random, side: Side) -> Iterator[Question]:
    """Two thirds of the conditions also name a part where the keybinding does not work."""
    for part, is_last in rounds(list(product(PARTS, (None, True, False))), rng):
        other = rng.choice([each for each in PARTS if each != part])
        wanted, unwanted = (rng.choice(CONDITIONS[side]).format(each, each.title()) for each in (part, other))
        both = f"!{unwanted} && {wanted}" if is_last else f"{wanted} && !{unwanted}"
        condition = wanted if is_last is None else both
        yield Question(f"{_any_chord(rng, side)} when {condition}", part, PARTS)


def _any_chord(rng: random.Random, side: Side) -> str:
    return _chord(rng.sample(range(len(MODIFIERS)), rng.choice((1, 1, 2))), rng.choice(KEYS[side]))


def _chord(held: list[int], key: str) -> str:
    return "+".join([*(MODIFIERS[index] for index in sorted(held)), key])


COMMANDS = {
    "practice": ("note.pin", "page.print", "list.sort", "grid.fill", "chat.mute", "task.add", "user.ban", "plot.zoom"),
    "sealed": ("mail.send", "disk.scan", "font.load", "song.play", "web.ping", "clip.trim", "role.grant", "test.rerun"),
}
FLAGS = {
    "practice": ("listShown", "fileDirty", "gridReady", "chatActive"),
    "sealed": ("mailOpen", "songPaused", "clipLocked", "diskFull"),
}
PRESSES = {"practice": "Press {chord} while {flag} is on:", "sealed": "With {flag} on, {chord} runs:"}


def runs(rng: random.Random, side: Side) -> Iterator[Question]:
    """Which of three lines takes the chord: only one has it, or a later one wins, or its `when` fails."""
    for case in rounds(("single", "later", "fails"), rng):
        chord, other = _two_chords(rng, side)
        flag, unset = rng.sample(FLAGS[side], 2)
        first, second, third = rng.sample(COMMANDS[side], 3)
        own = [(chord, first, rng.choice(("", flag)))]
        if case == "later":
            own.append((chord, second, rng.choice(("", flag))))
        elif case == "fails":
            own.append((chord, second, unset))
        rest = [(other, name, "") for name in ((third,) if len(own) == 2 else (second, third))]
        places = sorted(rng.sample(range(3), len(own)))
        lines = [own.pop(0) if index in places else rest.pop() for index in range(3)]
        shown = [f"{keys} {name}" + (f" when {condition}" if condition else "") for keys, name, condition in lines]
        asked = PRESSES[side].format(chord=chord, flag=flag)
        commands = tuple(command for _, command, _ in lines)
        yield Question("\n".join([*shown, asked]), second if case == "later" else first, commands)


def _two_chords(rng: random.Random, side: Side) -> tuple[str, str]:
    first, second = _any_chord(rng, side), _any_chord(rng, side)
    return (first, second) if first != second else _two_chords(rng, side)


ENTRIES = {
    "practice": ("{keys} for {command}", "{keys} for {command} if {flag}", "{keys} for {command} unless {flag}"),
    "sealed": ("{keys} runs {command}", "{keys} runs {command} if {flag}", "{keys} runs {command} unless {flag}"),
}


def entry(rng: random.Random, side: Side) -> Iterator[Question]:
    """A third of the bindings hold everywhere, a third under a flag, a third without it; half are spelt in capitals."""
    for (form, condition), is_spelt in rounds(list(product(enumerate(("", "{}", "!{}")), (True, False))), rng):
        chord, command, flag = _any_chord(rng, side), rng.choice(COMMANDS[side]), rng.choice(FLAGS[side])
        keys = chord if is_spelt else chord.title()
        binding = {"key": chord, "command": command}
        if condition:
            binding["when"] = condition.format(flag)
        text = ENTRIES[side][form].format(keys=keys, command=command, flag=flag)
        yield Question(text, json.dumps(binding))


HELD = ([0], [0], [2], [2], [0, 1], [1, 2], [0, 2])
MAC = {"ctrl": "cmd", "alt": "option", "shift": "shift"}
TO_MAC = {"practice": "{} to Mac", "sealed": "Mac: {}"}
FROM_MAC = {"practice": "{} to PC", "sealed": "PC: {}"}


def platform(rng: random.Random, side: Side) -> Iterator[Question]:
    """One chord, or two that are pressed one after the other."""
    for is_to_mac, chords in rounds(list(product((True, False), (1, 1, 1, 2))), rng):
        pc = [_chord(rng.choice(HELD), rng.choice(KEYS[side])) for _ in range(chords)]
        mac = ["+".join(MAC.get(part, part) for part in chord.split("+")) for chord in pc]
        given, wanted = (pc, mac) if is_to_mac else (mac, pc)
        frame = (TO_MAC if is_to_mac else FROM_MAC)[side]
        yield Question(frame.format(" ".join(given)), " ".join(wanted))


SPELL_EXAMPLES = (
    ("Ctrl + 1", "ctrl+1"),
    ("Alt + Shift + Tab", "shift+alt+tab"),
    ("Ctrl + Alt + Home", "ctrl+alt+home"),
    ("Alt + 4", "alt+4"),
)
WHEN_EXAMPLES = (
    ("ctrl+1 when panelUsed", "panel"),
    ("alt+2 when tabUsed", "tab"),
    ("shift+3 when !tabUsed && menuUsed", "menu"),
    ("ctrl+4 when tabUsed && !menuUsed", "tab"),
)
RUNS_EXAMPLES = (
    ("ctrl+1 tree.grow\nalt+4 lamp.dim\nalt+5 door.lock\nWith treeOld on, alt+4:", "lamp.dim"),
    ("alt+4 lamp.dim\nalt+4 door.lock when treeOld\nctrl+1 tree.grow\nWith treeOld on, alt+4:", "door.lock"),
    ("ctrl+1 tree.grow\nctrl+1 door.lock when doorShut\nalt+5 lamp.dim\nWith treeOld on, ctrl+1:", "tree.grow"),
)
ENTRY_EXAMPLES = (
    ("ctrl+1: tree.grow", '{"key": "ctrl+1", "command": "tree.grow"}'),
    ("Alt+4: lamp.dim if treeOld", '{"key": "alt+4", "command": "lamp.dim", "when": "treeOld"}'),
    ("Shift+Tab: door.lock unless lampLit", '{"key": "shift+tab", "command": "door.lock", "when": "!lampLit"}'),
)
PLATFORM_EXAMPLES = (
    ("Mac, ctrl+1", "cmd+1"),
    ("PC, option+4", "alt+4"),
    ("Mac, alt+1", "option+1"),
    ("Mac, ctrl+alt+home", "cmd+option+home"),
    ("PC, cmd+5 shift+tab", "ctrl+5 shift+tab"),
)

FAMILIES = (
    Family(
        "spell",
        "Write the chord as a keymap file does: ctrl, shift, alt, key.",
        "normalised",
        spell,
        examples=SPELL_EXAMPLES,
    ),
    Family("when", "Name the part of the window where the keybinding works.", "choice", when, examples=WHEN_EXAMPLES),
    Family(
        "runs",
        "Which command runs? The last line with the chord whose flag, if it has one, is on.",
        "choice",
        runs,
        examples=RUNS_EXAMPLES,
    ),
    Family(
        "entry",
        "Write the keymap entry as JSON, its key in small letters.",
        "json",
        entry,
        examples=ENTRY_EXAMPLES,
        max_tokens=40,
    ),
    Family(
        "platform",
        "Write the chord for the other system: PC ctrl is Mac cmd, PC alt is Mac option.",
        "normalised",
        platform,
        examples=PLATFORM_EXAMPLES,
        max_tokens=24,
    ),
)
