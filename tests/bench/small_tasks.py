"""Small real tasks for a coding assistant: a project with one thing wrong or missing, and the test that says so.

Each has a reference proposal that passes: see tests/sandbox/test_small_tasks.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CHECK = "python -m pytest -q"
QUICK_PYTEST = "[pytest]\naddopts = -p no:nbval -p no:hypothesispytest -p no:cacheprovider\n"


@dataclass(frozen=True)
class SmallTask:
    """`source` is `main.py`, `test` is `test_main.py`, `others` are further files that the model is shown."""

    name: str
    intent: str
    source: str
    test: str
    edits: tuple[Mapping[str, str], ...]
    others: Mapping[str, str] = field(default_factory=dict)

    def reference(self) -> str:
        """Return a proposal that passes."""
        return json.dumps({"intent": self.intent, "edits": list(self.edits)})

    def shown(self) -> tuple[str, ...]:
        return ("main.py", *self.others)

    def write(self, root: Path) -> None:
        """Make the project in `root`."""
        files = {"main.py": self.source, "test_main.py": self.test, "pytest.ini": QUICK_PYTEST, **self.others}
        for name, text in files.items():
            (root / name).write_text(text, encoding="utf-8")


def replaced(search: str, replacement: str, path: str = "main.py") -> dict[str, str]:
    return {"op": "replace", "path": path, "search": search, "replace": replacement}


def tested(names: str, *claims: str) -> str:
    body = "".join(f"    assert {claim}\n" for claim in claims)
    return f"from main import {names}\n\n\ndef test_it():\n{body}"


TASKS = (
    SmallTask(
        "wrong operator",
        "add must return the sum of a and b",
        "def add(a, b):\n    return a - b\n",
        tested("add", "add(2, 3) == 5", "add(-1, 1) == 0"),
        (replaced("a - b", "a + b"),),
    ),
    SmallTask(
        "missing return",
        "double must return twice its argument",
        "def double(x):\n    x * 2\n",
        tested("double", "double(4) == 8"),
        (replaced("x * 2", "return x * 2"),),
    ),
    SmallTask(
        "off by one",
        "last must return the last item of the list",
        "def last(items):\n    return items[len(items)]\n",
        tested("last", "last([1, 2, 3]) == 3"),
        (replaced("items[len(items)]", "items[-1]"),),
    ),
    SmallTask(
        "wrong constant",
        "minutes must convert hours to minutes: one hour has 60 minutes",
        "def minutes(hours):\n    return hours * 100\n",
        tested("minutes", "minutes(2) == 120"),
        (replaced("100", "60"),),
    ),
    SmallTask(
        "typo in a name",
        "fix the typo in the variable name in greet",
        'def greet(name):\n    return "Hello, " + nane\n',
        tested("greet", "greet('Ann') == 'Hello, Ann'"),
        (replaced("nane", "name"),),
    ),
    SmallTask(
        "missing import",
        "main.py uses math but does not import it; add the import",
        "def area(r):\n    return math.pi * r * r\n",
        tested("area", "round(area(1), 2) == 3.14"),
        (replaced("def area", "import math\n\n\ndef area"),),
    ),
    SmallTask(
        "syntax error",
        "add the missing colon after the function head",
        "def square(x)\n    return x * x\n",
        tested("square", "square(3) == 9"),
        (replaced("def square(x)", "def square(x):"),),
    ),
    SmallTask(
        "wrong comparison",
        "is_adult must be true from 18 years on",
        "def is_adult(age):\n    return age > 18\n",
        tested("is_adult", "is_adult(18) is True", "is_adult(17) is False"),
        (replaced("age > 18", "age >= 18"),),
    ),
    SmallTask(
        "rename a function",
        "rename the function sum_two to add_two",
        "def sum_two(a, b):\n    return a + b\n",
        tested("add_two", "add_two(1, 2) == 3"),
        (replaced("sum_two", "add_two"),),
    ),
    SmallTask(
        "add a function",
        "add a function triple that returns three times its argument",
        "def double(x):\n    return x * 2\n",
        tested("double, triple", "double(2) == 4", "triple(2) == 6"),
        (replaced("return x * 2\n", "return x * 2\n\n\ndef triple(x):\n    return x * 3\n"),),
    ),
    SmallTask(
        "new file",
        "write settings.py with the line LIMIT = 10",
        "from settings import LIMIT\n\n\ndef limit():\n    return LIMIT\n",
        tested("limit", "limit() == 10"),
        ({"op": "write", "path": "settings.py", "text": "LIMIT = 10\n"},),
    ),
    SmallTask(
        "default argument",
        "append must use a new list when none is given",
        "def append(item, items=[]):\n    items.append(item)\n    return items\n",
        tested("append", "append(1) == [1]", "append(2) == [2]", "append(3, [0]) == [0, 3]"),
        (replaced("items=[]):\n", "items=None):\n    items = [] if items is None else items\n"),),
    ),
    SmallTask(
        "empty list",
        "mean must return 0 for an empty list",
        "def mean(values):\n    return sum(values) / len(values)\n",
        tested("mean", "mean([1, 3]) == 2", "mean([]) == 0"),
        (replaced("    return", "    if not values:\n        return 0\n    return"),),
    ),
    SmallTask(
        "case",
        "same must compare two words without regard to case",
        "def same(a, b):\n    return a == b\n",
        tested("same", "same('Yes', 'yes')", "not same('yes', 'no')"),
        (replaced("a == b", "a.lower() == b.lower()"),),
    ),
    SmallTask(
        "missing key",
        "price must return 0 for a name that is not in PRICES",
        'PRICES = {"tea": 3}\n\n\ndef price(name):\n    return PRICES[name]\n',
        tested("price", "price('tea') == 3", "price('milk') == 0"),
        (replaced("PRICES[name]", "PRICES.get(name, 0)"),),
    ),
    SmallTask(
        "order of branches",
        "fizzbuzz must return FizzBuzz for multiples of 15",
        'def fizzbuzz(n):\n    if n % 3 == 0:\n        return "Fizz"\n    if n % 5 == 0:\n        return "Buzz"\n'
        '    if n % 15 == 0:\n        return "FizzBuzz"\n    return str(n)\n',
        tested("fizzbuzz", "fizzbuzz(15) == 'FizzBuzz'", "fizzbuzz(9) == 'Fizz'", "fizzbuzz(7) == '7'"),
        (replaced("    if n % 3 == 0:", '    if n % 15 == 0:\n        return "FizzBuzz"\n    if n % 3 == 0:'),),
    ),
    SmallTask(
        "leap year",
        "is_leap must say that 1900 is no leap year and 2000 is one",
        "def is_leap(year):\n    return year % 4 == 0\n",
        tested("is_leap", "is_leap(2000)", "is_leap(2024)", "not is_leap(1900)", "not is_leap(2023)"),
        (replaced("year % 4 == 0", "year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)"),),
    ),
    SmallTask(
        "exception",
        "withdraw must raise ValueError when amount is more than balance",
        "def withdraw(balance, amount):\n    return balance - amount\n",
        "import pytest\n\nfrom main import withdraw\n\n\ndef test_it():\n    assert withdraw(5, 2) == 3\n"
        "    with pytest.raises(ValueError):\n        withdraw(1, 2)\n",
        (replaced("    return", '    if amount > balance:\n        raise ValueError("not enough")\n    return'),),
    ),
    SmallTask(
        "sort order",
        "top must return the scores from high to low",
        "def top(scores):\n    return sorted(scores)\n",
        tested("top", "top([1, 3, 2]) == [3, 2, 1]"),
        (replaced("sorted(scores)", "sorted(scores, reverse=True)"),),
    ),
    SmallTask(
        "strip",
        "clean must remove spaces at both ends of the text",
        "def clean(text):\n    return text.lower()\n",
        tested("clean", "clean('  Hi ') == 'hi'"),
        (replaced("text.lower()", "text.strip().lower()"),),
    ),
    SmallTask(
        "unique",
        "unique must keep the order of the items",
        "def unique(items):\n    return sorted(set(items))\n",
        tested("unique", "unique(['b', 'a', 'b']) == ['b', 'a']"),
        (replaced("sorted(set(items))", "list(dict.fromkeys(items))"),),
    ),
    SmallTask(
        "clamp",
        "clamp must not return more than high",
        "def clamp(value, low, high):\n    return max(value, low)\n",
        tested("clamp", "clamp(5, 0, 3) == 3", "clamp(-1, 0, 3) == 0", "clamp(2, 0, 3) == 2"),
        (replaced("max(value, low)", "min(max(value, low), high)"),),
    ),
    SmallTask(
        "second file",
        "the tax rate in rates.py must be 0.2",
        "from rates import TAX\n\n\ndef with_tax(price):\n    return round(price * (1 + TAX), 2)\n",
        tested("with_tax", "with_tax(10) == 12.0"),
        (replaced("0.5", "0.2", "rates.py"),),
        {"rates.py": "TAX = 0.5\n"},
    ),
    SmallTask(
        "method",
        "Counter.up must add one to self.value",
        "class Counter:\n    def __init__(self):\n        self.value = 0\n\n    def up(self):\n        pass\n",
        "from main import Counter\n\n\ndef test_it():\n    counter = Counter()\n    counter.up()\n"
        "    counter.up()\n    assert counter.value == 2\n",
        (replaced("pass", "self.value += 1"),),
    ),
)
