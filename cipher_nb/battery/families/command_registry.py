"""command registry: from an operator's wording to the id of a command, which is always `<thing>.<action>`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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


FIND_EXAMPLES = (("Command for pinning a chart?", "chart.pin"), ("Command for hiding a menu?", "menu.hide"))

FAMILIES = (
    Family("find", "Answer with a command id.", "exact", find, examples=FIND_EXAMPLES),
    Family("act", f"Answer with one action: {', '.join(NAMES)}.", "choice", act),
)
