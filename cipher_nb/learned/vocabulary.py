"""The English that `opposites` reads: verbs, negations, and words that exclude each other."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERBS = {  # of what people do to code; "Tests X" or "Logs X" is its own thing
    form: verb
    for verb, forms in {
        "use": "use uses using prefer prefers preferring favor favors favour favours like likes choose chooses",
        "add": "add adds adding include includes including",
        "write": "write writes writing",
        "keep": "keep keeps keeping",
        "return": "return returns returning",
        "indent": "indent indents indenting",
    }.items()
    for form in forms.split()
}
EXCLUDING = _words("keep return indent")  # "Keeps lines short" excludes long ones; "Uses" does wherever the word stands
NEGATIONS = _words("never not no without avoid avoids avoiding omit omits omitting dislike dislikes")
NO_NEGATION = _words(  # after one of those: "not only", "no more than", "never just"
    "all always because both but by either entirely even every everything fewer if just less longer matter merely more "
    "necessarily need one only other quite simply so sooner than too until very yet"
)
SUBJECTS = _words("operator i we")
FILLERS = _words("always should must please do does will to")
ARTICLES = _words("a an the any")
PLACES = _words("in for when inside within on at unless if except")

_EXCLUSIVE = (
    ("tabs", "spaces"),
    ("single quotes", "double quotes"),
    ("sync", "async"),
    ("synchronous", "asynchronous"),
    ("short", "long"),
    ("early", "late"),
    ("absolute", "relative"),
    ("snake_case", "camelcase"),
)
CHOICES = {side: "|".join(sorted(pair)) for pair in _EXCLUSIVE for side in pair}
"""Each word of an exclusive pair, with what stands for the choice between the two."""
