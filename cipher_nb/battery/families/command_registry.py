"""command registry: from an operator's wording to a command, its arguments, its aliases and whether it is enabled."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "command registry"


@dataclass(frozen=True)
class Action:
    """What a command does, how operators word it on each side, and to which things it applies."""

    name: str
    wordings: Mapping[Side, tuple[str, ...]]
    things: tuple[str, ...]


def _action(name: str, things: str, *, practice: tuple[str, ...], sealed: tuple[str, ...]) -> Action:
    return Action(name, {"practice": practice, "sealed": sealed}, tuple(things.split()))


ACTIONS = (
    _action(
        "open",
        "terminal editor notebook sidebar panel window folder console debugger",
        practice=("open the {}", "bring up the {}", "launch the {}"),
        sealed=("open up my {}", "show me a {}", "have a {} appear"),
    ),
    _action(
        "close",
        "terminal editor notebook sidebar panel window tab console debugger",
        practice=("close the {}", "shut the {}", "dismiss the {}"),
        sealed=("close down my {}", "shut this {} now", "put this {} away"),
    ),
    _action(
        "split",
        "terminal editor notebook panel window tab cell layout",
        practice=("split the {}", "divide the {}", "cut the {} in two"),
        sealed=("split up my {}", "break this {} in half", "divide this {} in two"),
    ),
    _action(
        "clear",
        "terminal editor notebook panel cell console debugger folder",
        practice=("clear the {}", "wipe the {}", "empty the {}"),
        sealed=("clear out my {}", "make this {} blank", "wipe this {} clean"),
    ),
    _action(
        "rename",
        "terminal notebook window tab branch file folder theme",
        practice=("rename the {}", "give the {} a new name", "change the name of the {}"),
        sealed=("rename this {} for me", "call my {} something else", "have another name for this {}"),
    ),
    _action(
        "save",
        "editor notebook window tab file cell layout theme",
        practice=("save the {}", "store the {}", "write the {} to disk"),
        sealed=("save my {} now", "keep this {} on disk", "store this {} safely"),
    ),
    _action(
        "restart",
        "terminal editor notebook window kernel console debugger panel",
        practice=("restart the {}", "reboot the {}", "start the {} again"),
        sealed=("restart my {} afresh", "reboot this {} once more", "have this {} start over"),
    ),
    _action(
        "copy",
        "notebook tab branch file folder cell layout theme",
        practice=("copy the {}", "duplicate the {}", "clone the {}"),
        sealed=("copy this {} for me", "make a duplicate of my {}", "get a second {} just like it"),
    ),
)
NAMES = tuple(action.name for action in ACTIONS)

FIND = {
    "practice": ("Which command lets me {}?", "I want to {}. Command id?", "How do I {} from the palette?"),
    "sealed": ("Name the command to {}.", "What should I run to {}?", "Palette entry needed to {}:"),
}
ACT = {
    "practice": ("Which action would {}?", "I want to {}. Action?", "What is it called to {}?"),
    "sealed": ("Name the action to {}.", "Action that could {}:", "Say how one can {}."),
}


def find(rng: random.Random, side: Side) -> Iterator[Question]:
    for action in rounds(ACTIONS, rng):
        thing = rng.choice(action.things)
        wording = rng.choice(action.wordings[side]).format(thing)
        yield Question(rng.choice(FIND[side]).format(wording), f"{thing}.{action.name}")


def act(rng: random.Random, side: Side) -> Iterator[Question]:
    for action in rounds(ACTIONS, rng):
        wording = rng.choice(action.wordings[side]).format(rng.choice(action.things))
        yield Question(rng.choice(ACT[side]).format(wording), action.name, NAMES)


IDS = {
    "practice": ("note.pin", "page.print", "list.sort", "grid.fill", "chat.mute", "task.add", "user.ban", "plot.zoom"),
    "sealed": ("mail.send", "disk.scan", "font.load", "song.play", "web.ping", "clip.trim", "role.grant", "test.rerun"),
}
ALIASES = {
    "practice": ("np", "pp", "ls", "gf", "mu", "ta", "ub", "zo", "aa", "do"),
    "sealed": ("ms", "ds", "fl", "sp", "wp", "ct", "rg", "tr", "xx", "go"),
}
RUNS = {"practice": "Run {}:", "sealed": "{} runs:"}


def alias(rng: random.Random, side: Side) -> Iterator[Question]:
    """One to three hops from the alias that is asked about to a command; another alias leads elsewhere."""
    for hops in rounds((1, 2, 3), rng):
        command, other = rng.sample(IDS[side], 2)
        names = rng.sample(ALIASES[side], hops + 1)
        steps = [*zip(names, [*names[1:hops], command], strict=False), (names[hops], other)]
        lines = [f"{name} = {meant}" for name, meant in rng.sample(steps, len(steps))]
        yield Question("\n".join([*lines, RUNS[side].format(names[0])]), command)


@dataclass(frozen=True)
class Call:
    """A command of two arguments, and how an operator words each: a number first, then one of some words."""

    name: str
    number: tuple[str, str]
    word: tuple[str, str, tuple[str, ...]]


CALLS = {
    "practice": (
        Call("zoom", ("percent", "to {} percent"), ("pane", "the {} pane", ("left", "right", "upper", "lower"))),
        Call("open", ("line", "line {}"), ("mode", "as {}", ("text", "hex", "image"))),
        Call("wrap", ("width", "after {} characters"), ("style", "with {} breaks", ("hard", "soft"))),
        Call("print", ("copies", "{} times"), ("paper", "on {}", ("A4", "A5", "letter"))),
    ),
    "sealed": (
        Call("resize", ("pixels", "by {} pixels"), ("side", "at the {}", ("top", "bottom", "start", "end"))),
        Call("fold", ("depth", "down to depth {}"), ("kind", "{} only", ("loops", "classes", "imports"))),
        Call("sort", ("column", "column {}"), ("order", "{} order", ("rising", "falling"))),
        Call("shift", ("rows", "{} rows"), ("way", "going {}", ("up", "down", "back"))),
    ),
}
NUMBERS = {"practice": range(2, 50), "sealed": range(50, 99)}


def args(rng: random.Random, side: Side) -> Iterator[Question]:
    """In two of three questions one argument is not mentioned and keeps its default."""
    for call, said in rounds(list(product(CALLS[side], ("number", "word", "both"))), rng):
        (count, counted), (name, worded, words) = call.number, call.word
        number, usual_number = rng.sample(NUMBERS[side], 2)
        word, usual_word = rng.sample(words, 2)
        meant = {count: usual_number if said == "word" else number, name: usual_word if said == "number" else word}
        phrases = {"number": counted.format(number), "word": worded.format(word)}
        wish = ", ".join(phrases.values()) if said == "both" else phrases[said]
        yield Question(f"{call.name}({count}={usual_number}, {name}={usual_word}): {wish}", json.dumps(meant))


FLAGS = {
    "practice": ("busy", "online", "dirty", "linked", "hidden"),
    "sealed": ("ready", "locked", "paused", "shared", "empty"),
}
ON = {"practice": "Set: {}", "sealed": "True: {}"}


def enabled(rng: random.Random, side: Side) -> Iterator[Question]:
    """Of three commands exactly one is enabled."""
    for place in rounds(range(3), rng):
        flags = rng.sample(FLAGS[side], 4)
        true = set(flags[:2])
        right, *wrong = (_rule(rng, flags, true, holds=holds) for holds in (True, False, False))
        rules = [*wrong[:place], right, *wrong[place:]]
        ids = rng.sample(IDS[side], 3)
        lines = [f"{command}: {rule}" for command, rule in zip(ids, rules, strict=True)]
        yield Question("\n".join([*lines, ON[side].format(", ".join(sorted(true)))]), ids[place], tuple(ids))


def _rule(rng: random.Random, flags: Sequence[str], true: Collection[str], *, holds: bool) -> str:
    """Return a rule over `flags` that holds, or does not, when just `true` are set."""
    while True:
        first, second = rng.sample(flags, 2)
        signs = [rng.choice(("", "!")) for _ in range(2)]
        values = [(flag in true) != bool(sign) for flag, sign in zip((first, second), signs, strict=True)]
        form = rng.choice(("one", "one", "and", "and", "or"))
        value = {"one": values[0], "and": all(values), "or": any(values)}[form]
        if value == holds:
            joint = {"and": " && ", "or": " || "}.get(form)
            return f"{signs[0]}{first}{joint}{signs[1]}{second}" if joint else f"{signs[0]}{first}"


FIND_EXAMPLES = (
    ("Command for pinning a chart?", "chart.pin"),
    ("Command for hiding a menu?", "menu.hide"),
    ("Command for pausing the video?", "video.pause"),
    ("Command for locking this door?", "door.lock"),
)
ALIAS_EXAMPLES = (
    ("rt = tree.grow\nqq = rt\nMeaning of qq:", "tree.grow"),
    ("uv = lamp.dim\nrt = door.lock\nMeaning of uv:", "lamp.dim"),
    ("qq = uv\nkk = tree.grow\nuv = kk\nbb = door.lock\nMeaning of qq:", "tree.grow"),
)
ARGS_EXAMPLES = (
    ("wait(seconds=7, tone=low): 101 seconds", '{"seconds": 101, "tone": "low"}'),
    ("draw(dots=120, hue=red): in blue", '{"dots": 120, "hue": "blue"}'),
    ("wait(seconds=130, tone=low): 144 seconds, high tone", '{"seconds": 144, "tone": "high"}'),
)
ENABLED_EXAMPLES = (
    ("tree.grow: big\nlamp.dim: !big\ndoor.lock: old\nOn: big, new", "tree.grow"),
    ("tree.grow: big && new\nlamp.dim: new || old\ndoor.lock: !new\nOn: few, new", "lamp.dim"),
    ("door.lock: big && old\ntree.grow: few\nlamp.dim: !few && big\nOn: big, new", "lamp.dim"),
)

FAMILIES = (
    Family("find", "Answer with a command id.", "normalised", find, examples=FIND_EXAMPLES),
    Family("act", f"Answer with one action: {', '.join(NAMES)}.", "choice", act),
    Family("alias", "Follow the aliases to the command.", "normalised", alias, examples=ALIAS_EXAMPLES),
    Family(
        "args",
        "Give the arguments of the call as JSON. What is not said keeps its default.",
        "json",
        args,
        examples=ARGS_EXAMPLES,
        max_tokens=24,
    ),
    Family(
        "enabled",
        "Name the only enabled command. Flags not listed are off; && is and, || is or, ! is not.",
        "choice",
        enabled,
        examples=ENABLED_EXAMPLES,
    ),
)
