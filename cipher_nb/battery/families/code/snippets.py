"""Short snippets of Python: what they print, which line fails and how, and which built-in is at work."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cipher_nb.battery.family import Question, rounds
from cipher_nb.battery.samples import Side

WORDS: Mapping[Side, tuple[str, ...]] = {
    "practice": ("lantern", "copper", "meadow", "rocket", "violet", "kitten", "saddle", "button", "orange", "pillow"),
    "sealed": ("anchor", "basket", "candle", "desert", "falcon", "garden", "hammer", "island", "jungle", "magnet"),
}
NAMES: Mapping[Side, tuple[str, ...]] = {
    "practice": ("a", "b", "x", "xs", "out", "item"),
    "sealed": ("p", "q", "m", "row", "acc", "step"),
}
NUMBERS: Mapping[Side, tuple[int, ...]] = {
    "practice": tuple(n for n in range(2, 50) if n % 4 in (0, 1)),
    "sealed": tuple(n for n in range(2, 50) if n % 4 in (2, 3)),
}
Printed = tuple[str, Any]
"""The lines of a snippet and the value that it prints."""


def _say(rng: random.Random, side: Side) -> Printed:
    name, other, *_ = NAMES[side]
    word, number = rng.choice(WORDS[side]), rng.choice(NUMBERS[side])
    value: Any = rng.choice((word, number))
    return f"{name} = {value!r}\n{other} = {name}\nprint({other})", value


def _method(rng: random.Random, side: Side) -> Printed:
    word = rng.choice(WORDS[side])
    old, new = rng.sample(word, 2)
    call, value = rng.choice(
        (
            ("upper()", word.upper()),
            ("title()", word[0].upper() + word[1:]),
            (f"replace({old!r}, {new!r})", "".join(new if letter == old else letter for letter in word)),
            (f"find({old!r})", word.index(old)),
            (f"count({new!r})", sum(letter == new for letter in word)),
        )
    )
    return f"{NAMES[side][0]} = {word!r}\nprint({NAMES[side][0]}.{call})", value


def _slice(rng: random.Random, side: Side) -> Printed:
    word = rng.choice(WORDS[side])
    start, end = rng.randint(0, 2), rng.randint(3, 5)
    span, value = rng.choice(
        (
            (f"{start}:{end}", "".join(word[place] for place in range(start, end))),
            (f":{end}", "".join(word[place] for place in range(end))),
            (f"-{start + 1}", word[len(word) - start - 1]),
            ("::-1", "".join(reversed(word))),
        )
    )
    return f"{NAMES[side][1]} = {word!r}\nprint({NAMES[side][1]}[{span}])", value


def _sum(rng: random.Random, side: Side) -> Printed:
    name, other, *_ = NAMES[side]
    first, second = sorted(rng.sample(NUMBERS[side], 2), reverse=True)
    sign, value = rng.choice(
        (
            ("+", first + second),
            ("-", first - second),
            ("*", first * second),
            ("//", divmod(first, second)[0]),
            ("%", divmod(first, second)[1]),
        )
    )
    return f"{name} = {first}\n{other} = {second}\nprint({name} {sign} {other})", value


def _choose(rng: random.Random, side: Side) -> Printed:
    name = NAMES[side][2]
    number, limit = rng.sample(NUMBERS[side], 2)
    yes, no = rng.sample(WORDS[side], 2)
    return f"{name} = {number}\nprint({yes!r} if {name} > {limit} else {no!r})", yes if number > limit else no


def _look_up(rng: random.Random, side: Side) -> Printed:
    name = NAMES[side][3]
    keys, values = rng.sample(WORDS[side], 3), rng.sample(NUMBERS[side], 3)
    table = dict(zip(keys[:2], values[:2], strict=True))
    asked = rng.choice(keys)
    return f"{name} = {table}\nprint({name}.get({asked!r}, {values[2]}))", table.get(asked, values[2])


def _change(rng: random.Random, side: Side) -> Printed:
    name = NAMES[side][3]
    numbers = rng.sample(NUMBERS[side], 3)
    added = rng.choice(NUMBERS[side])
    call, value = rng.choice(
        (
            (f"append({added})", [*numbers, added]),
            (f"insert(1, {added})", [numbers[0], added, *numbers[1:]]),
            ("pop(0)", numbers[1:]),
            ("reverse()", numbers[::-1]),
            ("sort()", sorted(numbers)),
        )
    )
    return f"{name} = {numbers}\n{name}.{call}\nprint({name})", value


def _loop(rng: random.Random, side: Side) -> Printed:
    total, step = NAMES[side][4:]
    numbers = rng.sample(NUMBERS[side], 3)
    start, factor = rng.choice(NUMBERS[side]), rng.choice((1, 1, 2))
    body = f"{total} += {step}" if factor == 1 else f"{total} += {factor} * {step}"
    return f"{total} = {start}\nfor {step} in {numbers}:\n    {body}\nprint({total})", start + factor * sum(numbers)


def _filter(rng: random.Random, side: Side) -> Printed:
    step = NAMES[side][5]
    numbers = rng.sample(NUMBERS[side], 4)
    limit = sorted(numbers)[1]
    return (
        f"print([{step} + 1 for {step} in {numbers} if {step} > {limit}])",
        [number + 1 for number in numbers if number > limit],
    )


SNIPPETS: tuple[Callable[[random.Random, Side], Printed], ...] = (
    *(_say, _method, _slice, _sum, _choose, _look_up, _change, _loop, _filter),
)


def output(rng: random.Random, side: Side) -> Iterator[Question]:
    for snippet in rounds(SNIPPETS, rng):
        text, value = snippet(rng, side)
        yield Question(text, str(value))


Pair = tuple[str, str]
"""Two expressions alike: one works, the other raises."""


def _index_error(rng: random.Random, side: Side) -> Pair:
    numbers = rng.sample(NUMBERS[side], rng.choice((2, 3)))
    made = rng.choice((str(numbers), str(tuple(numbers)), repr(rng.choice(WORDS[side])[: len(numbers)])))
    return f"{made}[{len(numbers) - 1}]", f"{made}[{len(numbers)}]"


def _key_error(rng: random.Random, side: Side) -> Pair:
    words = rng.sample(WORDS[side], 2)
    table = {words[0]: rng.choice(NUMBERS[side])}
    form = rng.choice(("{}[{!r}]", "{}.pop({!r})"))
    return form.format(table, words[0]), form.format(table, words[1])


def _value_error(rng: random.Random, side: Side) -> Pair:
    number, word = rng.choice(NUMBERS[side]), rng.choice(WORDS[side])
    call = rng.choice(("int", "float"))
    return f"{call}('{number}')", f"{call}('{rng.choice((word, f'{number}{word[0]}'))}')"


def _type_error(rng: random.Random, side: Side) -> Pair:
    word, number = rng.choice(WORDS[side]), rng.choice(NUMBERS[side])
    return rng.choice(
        (
            (f"{word!r} + '{number}'", f"{word!r} + {number}"),
            (f"'{number}' + {word!r}", f"{number} + {word!r}"),
            (f"len({word!r})", f"len({number})"),
        )
    )


def _division(rng: random.Random, side: Side) -> Pair:
    number, other = rng.sample(NUMBERS[side], 2)
    sign = rng.choice(("/", "//", "%"))
    zero = rng.choice(("0", f"({other} - {other})"))
    return f"{number} {sign} {other}", f"{number} {sign} {zero}"


def _attribute(rng: random.Random, side: Side) -> Pair:
    word, numbers = rng.choice(WORDS[side]), rng.sample(NUMBERS[side], 2)
    return rng.choice(
        (
            (f"{word!r}.upper()", f"{word!r}.append('s')"),
            (f"{numbers}.copy()", f"{numbers}.lower()"),
            (f"{numbers}.pop()", f"{numbers}.split()"),
        )
    )


def _name(rng: random.Random, side: Side) -> Pair:
    word = rng.choice(WORDS[side])
    call, typo = rng.choice((("len", "lenn"), ("sorted", "sort"), ("list", "lst"), ("max", "maxi")))
    return f"{call}({word!r})", f"{typo}({word!r})"


RAISING: Mapping[str, Callable[[random.Random, Side], Pair]] = {
    "IndexError": _index_error,
    "KeyError": _key_error,
    "ValueError": _value_error,
    "TypeError": _type_error,
    "ZeroDivisionError": _division,
    "AttributeError": _attribute,
    "NameError": _name,
}
PLACES = ("1", "2", "3", "4")


def line(rng: random.Random, side: Side) -> Iterator[Question]:
    for place, error in rounds([(place, error) for place in PLACES for error in RAISING], rng):
        others = rng.sample([other for other in RAISING if other != error], 3)
        safe = [RAISING[other](rng, side)[0] for other in others]
        safe.insert(int(place) - 1, RAISING[error](rng, side)[1])
        yield Question("\n".join(f"{at}: {text}" for at, text in zip(PLACES, safe, strict=True)), place, PLACES)


BUILTINS: Mapping[str, Callable[[list[int]], Any]] = {
    "len": lambda numbers: sum(1 for _ in numbers),
    "max": lambda numbers: sorted(numbers)[-1],
    "min": lambda numbers: sorted(numbers)[0],
    "sum": lambda numbers: numbers[0] + numbers[1] + numbers[2],
    "any": lambda numbers: True,
    "tuple": lambda numbers: (numbers[0], numbers[1], numbers[2]),
    "sorted": lambda numbers: [min(numbers), sum(numbers) - min(numbers) - max(numbers), max(numbers)],
}
ERROR_ASKED = {"practice": "What does {} raise?", "sealed": "Error from: {}"}
BUILTIN_ASKED = {"practice": "____({0}) gives {1}. Which built-in?", "sealed": "Built-in that turns {0} into {1}:"}


def name(rng: random.Random, side: Side) -> Iterator[Question]:
    for wanted in rounds([*RAISING, *BUILTINS], rng):
        if wanted in RAISING:
            text = ERROR_ASKED[side].format(RAISING[wanted](rng, side)[1])
            yield Question(text, wanted, tuple(RAISING))
        else:
            numbers = rng.sample([number for number in NUMBERS[side] if number > 3], 3)
            if numbers == sorted(numbers):
                numbers.reverse()
            text = BUILTIN_ASKED[side].format(numbers, BUILTINS[wanted](numbers))
            yield Question(text, wanted, tuple(BUILTINS))
