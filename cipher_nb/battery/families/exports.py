"""exports: file names from a template, the format that serves, and records between JSON, CSV and a manifest."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping

from cipher_nb.battery.family import Family, Question, rounds, vocabulary
from cipher_nb.battery.samples import Side

CATEGORY = "exports"

FIELDS = vocabulary(practice="title run kind", sealed="label number format")
NAMES = vocabulary(
    practice="Night Report; Daily Summary; Chat Log; Open Tasks; Test Results; Approved Edits; Error List; Costs",
    sealed="Gate Table; Weekly Digest; Prompt History; Shipped Work; Lint Findings; Rejected Diffs; Crash Notes; Usage",
    separator=";",
)
ENDINGS = {"practice": ("csv", "md", "html", "txt"), "sealed": ("json", "pdf", "xml", "svg")}
RUNS = {"practice": range(1, 50), "sealed": range(50, 400)}
NAME_FILTERS = (":upper", ":lower", ":slug", ":slug")
RUN_FILTERS = ("", ":3", ":4", ":5")


def name(rng: random.Random, side: Side) -> Iterator[Question]:
    for with_run, filtered in rounds(((False, False), (False, True), (True, False), (True, True)), rng):
        fields = FIELDS[side]
        values = {
            fields[0]: rng.choice(NAMES[side]),
            fields[1]: str(rng.choice(RUNS[side])),
            fields[2]: rng.choice(ENDINGS[side]),
        }
        filters = (rng.choice(NAME_FILTERS), rng.choice(RUN_FILTERS)) if filtered else ("", "")
        first, second = (f"{{{field}{filter_}}}" for field, filter_ in zip(fields, filters, strict=False))
        parts = rng.sample([first, second], 2) if with_run else [first]
        template = f"{rng.choice('-_.').join(parts)}.{{{fields[2]}}}"
        told = ", ".join(f"{field}={value}" for field, value in values.items() if f"{{{field}" in template)
        yield Question(f"{template} with {told}", filled(template, values))


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its fields replaced: `{x}`, `{x:upper}`, `{x:lower}`, `{x:slug}`, `{x:<digits>}`."""
    for field, value in values.items():
        forms = {"": value, ":upper": value.upper(), ":lower": value.lower(), ":slug": value.lower().replace(" ", "-")}
        forms |= {f":{width}": value.zfill(width) for width in (3, 4, 5)}
        for form, text in forms.items():
            template = template.replace(f"{{{field}{form}}}", text)
    return template


FORMATS = ("csv", "jsonl", "html", "png", "zip")
THINGS = vocabulary(
    practice="approvals; gate runs; chat turns; test times; open tasks; costs; prompts; model scores; "
    "commits; reviews; renames; warnings; meetings; builds",
    sealed="rejections; lint findings; shipped work; token counts; night logs; crashes; answers; adapter sizes; "
    "branches; merges; deletions; timeouts; releases; invoices",
    separator=";",
)
FOR = vocabulary(
    practice="for Ana; for our client; for the audit; by noon; for Leo",
    sealed="for Kim; for my manager; for the board; by Friday; for Raj",
    separator=";",
)
WANTS: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "csv": ("Put the {} into a spreadsheet", "A table of {} to sort in Excel", "Rows and columns of {}"),
        "jsonl": ("Feed the {} to a script", "One JSON record a line of {}", "Let a program stream the {}"),
        "html": ("A page about {} to open in the browser", "Show the {} on a web page", "A linked page of {}"),
        "png": ("A picture of the chart of {}", "The plot of {} as an image", "Save the graph of {} as a picture"),
        "zip": (
            "All files about {} packed in one",
            "Bundle the files with the {}",
            "One archive with every file on {}",
        ),
    },
    "sealed": {
        "csv": (
            "I must open the {} in a spreadsheet",
            "I need {} as plain rows in Calc",
            "Make a spreadsheet of all {}",
        ),
        "jsonl": ("My parser reads {} record by record", "Hand {} to another program", "A script will consume the {}"),
        "html": ("I want to read {} in Firefox", "Publish {} as a web page", "Make {} viewable in any browser"),
        "png": (
            "Paste the diagram of {} as an image",
            "I need a picture of the curve of {}",
            "Draw {} as an image file",
        ),
        "zip": ("Send the folder of {} as one file", "Pack the files on {} together", "Archive the whole folder of {}"),
    },
}


def fitting(rng: random.Random, side: Side) -> Iterator[Question]:
    for target in rounds(FORMATS, rng):
        want = rng.choice(WANTS[side][target]).format(rng.choice(THINGS[side]))
        yield Question(f"{want} {rng.choice(FOR[side])}.", target, FORMATS)


COLUMNS = {"practice": ("id", "task", "owner", "done"), "sealed": ("rank", "change", "author", "shipped")}
OWNERS = vocabulary(practice="ana leo mia tom zoe ben lea", sealed="kim raj eva sam ida jon amy")
VERBS = vocabulary(practice="Fix Rename Move Drop", sealed="Sort Split Check Merge")
OBJECTS = vocabulary(
    practice="loader parser menu icon cache tree form graph",
    sealed="router palette panel badge queue dialog footer shell",
)
QUOTED = vocabulary(practice="open save undo", sealed="close print redo")


def row(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind, width in rounds((("word", 2), ("plain", 3), ("comma", 3), ("quote", 3)), rng):
        number, title, owner, _ = _record(rng, side, _title(rng, side, kind=kind)).items()
        told = dict(rng.sample([title, number, owner][:width], width))
        yield Question(json.dumps(told), ",".join(csv_field(str(value)) for value in told.values()))


def record(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind, width in rounds((("word", 2), ("plain", 3), ("comma", 3), ("empty", 4)), rng):
        found = _record(rng, side, _title(rng, side, kind=kind))
        columns = rng.sample(list(found), width)
        cells = ("" if found[c] is None else csv_field(json.dumps(found[c]).strip('"')) for c in columns)
        answer = json.dumps({column: found[column] for column in columns})
        yield Question(f"{','.join(columns)}\n{','.join(cells)}", answer)


def csv_field(text: str) -> str:
    """Return the text as one CSV field, in quotes only where it must be."""
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _record(rng: random.Random, side: Side, title: str | None) -> dict[str, str | int | bool | None]:
    values = (rng.choice(RUNS[side]), title, rng.choice(OWNERS[side]), rng.choice((True, False)))
    return dict(zip(COLUMNS[side], values, strict=True))


def _title(rng: random.Random, side: Side, *, kind: str) -> str | None:
    verb, thing, other = rng.choice(VERBS[side]), *rng.sample(OBJECTS[side], 2)
    titles = {"word": thing, "plain": f"{verb} {thing}", "comma": f"{verb} {thing}, {other}", "empty": None}
    return titles.get(kind, f'{verb} the "{rng.choice(QUOTED[side])}" {thing}')


FILES = vocabulary(practice="chats tasks pairs costs runs", sealed="ships gates scores notes words")
MANIFEST = "{}: {} rows, {}"
STATES = {"practice": ("written", "failed"), "sealed": ("ok", "skipped")}
ASK = {
    "one": {"practice": "How many rows are in {}?", "sealed": "Rows of {}?"},
    "all": {"practice": "How many rows are marked {} in total?", "sealed": "Add up the rows marked {}."},
    "files": {"practice": "How many {} files are marked {}?", "sealed": "Count the {} files marked {}."},
}


def manifest(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind in rounds(("one", "one", "all", "files"), rng):
        ending = rng.choice(ENDINGS[side])
        files = [
            f"{stem}.{rng.choice((ending, *ENDINGS[side]))}" for stem in rng.sample(FILES[side], rng.choice((2, 3)))
        ]
        rows = {file: (rng.choice(RUNS[side]), rng.choice(STATES[side])) for file in files}
        lines = "\n".join(MANIFEST.format(file, *told) for file, told in rows.items())
        state, file = rng.choice(STATES[side]), rng.choice(files)
        question, answer = {
            "one": (ASK["one"][side].format(file), rows[file][0]),
            "all": (ASK["all"][side].format(state), sum(count for count, found in rows.values() if found == state)),
            "files": (
                ASK["files"][side].format(ending, state),
                sum(each.endswith(ending) and found == state for each, (_, found) in rows.items()),
            ),
        }[kind]
        yield Question(f"{lines}\n{question}", str(answer))


NAME = (
    "Fill in the file name. {x:upper} and {x:lower} change the case, {x:slug} is lower case with - for each space, "
    "{x:3} puts zeros before a number until it has 3 digits. Answer with the name only."
)
NAME_EXAMPLES = (
    ("{n}.{e} with n=Red Owl, e=doc", "Red Owl.doc"),
    ("{n:lower}_{i:3}.{e} with n=Old Cat, i=5, e=zip", "old cat_005.zip"),
    ("{i}-{n}.{e} with n=Wild Fox, i=12, e=doc", "12-Wild Fox.doc"),
    ("{n:slug}.{e} with n=Big Red Dog, e=log", "big-red-dog.log"),
)
FORMAT = (
    "csv: rows for a spreadsheet. jsonl: records for a program. html: a page for the browser. png: a picture. "
    "zip: several files in one. Name the format that serves."
)
FORMAT_EXAMPLES = (
    ("Sort cats in a spreadsheet.", "csv"),
    ("Pack the cat files.", "zip"),
    ("An image of a cat.", "png"),
    ("A program will read cats.", "jsonl"),
    ("A cat page for the browser.", "html"),
)
ROW = (
    "Write the record as one CSV line, its values in their order. Put a field in double quotes only if it "
    "holds a comma or a double quote, and write each double quote inside it twice."
)
ROW_EXAMPLES = (
    ('{"n": 3, "cat": "tom", "food": "fish, milk"}', '3,tom,"fish, milk"'),
    ('{"n": 8, "cat": "Old \\"Max\\"", "food": "meat"}', '8,"Old ""Max""",meat'),
    ('{"cat": "kit", "food": "red meat", "n": 51}', "kit,red meat,51"),
    ('{"cat": "pip", "n": 62}', "pip,62"),
    ('{"n": 17, "cat": "leo"}', "17,leo"),
)
RECORD = (
    "Turn the CSV row into a JSON object: numbers and true/false as they are, an empty field as null, "
    "all else as strings."
)
RECORD_EXAMPLES = (
    ('cat,food,n\ntom,"fish, milk",35', '{"cat": "tom", "food": "fish, milk", "n": 35}'),
    ("wild,cat,food\nfalse,max,", '{"wild": false, "cat": "max", "food": null}'),
    ("food,cat\nfish,max", '{"food": "fish", "cat": "max"}'),
    ("n,cat\n62,pip", '{"n": 62, "cat": "pip"}'),
)
MANIFEST_EXAMPLES = (
    ("cats.log: 31 rows, sent\ndogs.log: 42 rows, lost\nRows in dogs.log?", "42"),
    ("cats.log: 30 rows, sent\ndogs.log: 40 rows, sent\nowls.doc: 19 rows, lost\nSum of rows sent?", "70"),
    ("owls.doc: 25 rows, lost\ndogs.log: 18 rows, lost\nNumber of doc files lost?", "1"),
    ("owls.doc: 27 rows, lost\ncats.doc: 11 rows, sent\nRows in owls.doc?", "27"),
)

FAMILIES = (
    Family("name", NAME, "exact", name, examples=NAME_EXAMPLES, max_tokens=24),
    Family("format", FORMAT, "choice", fitting, examples=FORMAT_EXAMPLES),
    Family("row", ROW, "exact", row, examples=ROW_EXAMPLES, max_tokens=32),
    Family("record", RECORD, "json", record, examples=RECORD_EXAMPLES, max_tokens=48),
    Family(
        "manifest", "Read the export's manifest. Answer with a number.", "numeric", manifest, examples=MANIFEST_EXAMPLES
    ),
)
