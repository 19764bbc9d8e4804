"""lsp/dap routes: which request serves a wish, its positions and params, and where each message belongs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import product

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "lsp/dap routes"

NAMES = {
    "practice": (
        *("parse", "render", "loadFile", "send_mail", "total", "Cart", "retry", "isOpen", "User", "draw"),
        *("cache", "login", "Board", "flush", "sum_rows", "Timer", "merge", "unpack", "Widget", "route"),
    ),
    "sealed": (
        *("encode", "resize", "saveImage", "read_block", "price", "Wallet", "commit", "hasRoom", "Order", "paint"),
        *("queue", "logout", "Ledger", "drain", "min_cost", "Clock", "split", "compress", "Panel", "lookup"),
    ),
}
STEMS = {
    "practice": ("app", "main", "views", "models", "routes", "utils"),
    "sealed": ("store", "worker", "forms", "billing", "mailer", "tokens"),
}
SUFFIXES = {"practice": ("py", "rs", "rb", "go"), "sealed": ("ts", "lua", "c", "java")}
NUMBERS = {"practice": (2, 60), "sealed": (61, 120)}

WISHES = {
    "practice": {
        "definition": (
            "Where is {name} of {file} defined?",
            "Jump to the definition of {name}",
            "Which line declares {name}?",
        ),
        "references": ("Who calls {name} of {file}?", "Find all references to {name}", "List where {name} is used"),
        "hover": ("Show a tooltip for {name} in {file}", "Mouse rests on {name}", "Hover card of {name}"),
        "formatting": (
            "Format {file} {number} columns wide",
            "Fix the indentation of {file}",
            "Tidy the spacing of {file}",
        ),
        "completion": (
            "What may follow after {name}. in {file}?",
            "Complete the word after {name}.",
            "Suggest members of {name}",
        ),
        "setBreakpoints": (
            "Stop at line {number} of {file}",
            "Break in {file} at {number}",
            "Red dot at {file}:{number}",
        ),
        "evaluate": (
            "Value of {name} right now?",
            "Compute {name} + {number} while stopped",
            "Evaluate {name} < {number}",
        ),
        "next": ("Step over {name} in {file}", "Go one line on, past {name}", "Run {name} and stop on the next line"),
    },
    "sealed": {
        "definition": (
            "Take me from {file} to the source of {name}",
            "Open where {name} is defined",
            "See how {name} is declared",
        ),
        "references": ("Every use {file} has of {name}", "What refers to {name}?", "Count the callers of {name}"),
        "hover": ("Type of {name} as a popup over {file}", "Pointer is over {name}", "Give hover text for {name}"),
        "formatting": (
            "Make {file} neatly laid out",
            "Reformat {file} to {number} columns",
            "Apply house layout to {file}",
        ),
        "completion": (
            "Offer endings in {file} while I type {name}.",
            "Autocomplete {name}.",
            "List what I can type after {name}.",
        ),
        "setBreakpoints": (
            "Halt when {file} gets to line {number}",
            "Breakpoint at {file}, {number}",
            "Let {file} stop on line {number}",
        ),
        "evaluate": (
            "While halted, work out {name} * {number}",
            "Watch expression {name}",
            "What does {name} hold on line {number} just now?",
        ),
        "next": (
            "Execute this line, not going into {name}",
            "Step past {name} while in {file}",
            "Skip over {name} to the following line",
        ),
    },
}
METHODS = tuple(WISHES["sealed"])


def request(rng: random.Random, side: Side) -> Iterator[Question]:
    for method in rounds(METHODS, rng):
        wording = rng.choice(WISHES[side][method])
        text = wording.format(name=rng.choice(NAMES[side]), file=_file(rng, side), number=rng.randint(*NUMBERS[side]))
        yield Question(text, method, METHODS)


def _file(rng: random.Random, side: Side) -> str:
    return f"{rng.choice(STEMS[side])}.{rng.choice(SUFFIXES[side])}"


POSITIONS = {
    "practice": {"lsp": "LSP for {line}:{column}", "dap": "DAP for {line}:{column}", "editor": "Editor for {given}"},
    "sealed": {"lsp": "{line}:{column} in LSP", "dap": "{line}:{column} in DAP", "editor": "{given} in the editor"},
}


def position(rng: random.Random, side: Side) -> Iterator[Question]:
    """From the editor's line:column to either protocol, and back from the one that counts from 0."""
    for kind in rounds(("lsp", "dap", "editor"), rng):
        line, column = rng.randint(*NUMBERS[side]), rng.randint(*NUMBERS[side])
        zero_based = json.dumps({"line": line - 1, "character": column - 1})
        one_based = json.dumps({"line": line, "column": column})
        text = POSITIONS[side][kind].format(line=line, column=column, given=zero_based)
        yield Question(text, zero_based if kind == "lsp" else one_based)


PARAMS = {
    "practice": {
        "breakpoint": "Breakpoint in {file} at line {line}",
        "evaluate": "Evaluate {name} in frame {line}",
        "stack": "Thread {line}, top {count} frames",
        "rename": "Rename {line}:{count} to {name}",
    },
    "sealed": {
        "breakpoint": "Breakpoint: {file}, line {line}",
        "evaluate": "Evaluate: {name}, frame {line}",
        "stack": "Thread {line}: {count} frames",
        "rename": "Rename: {line}:{count}, {name}",
    },
}


def params(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind in rounds(list(PARAMS[side]), rng):
        file, name = _file(rng, side), rng.choice(NAMES[side])
        line, count = rng.randint(*NUMBERS[side]), rng.randint(*NUMBERS[side])
        built: dict[str, object] = {
            "breakpoint": {"source": {"path": file}, "breakpoints": [{"line": line}]},
            "evaluate": {"expression": name, "frameId": line},
            "stack": {"threadId": line, "levels": count},
            "rename": {"position": {"line": line - 1, "character": count - 1}, "newName": name},
        }
        text = PARAMS[side][kind].format(file=file, name=name, line=line, count=count)
        yield Question(text, json.dumps(built[kind]))


KINDS = ("request", "response", "notification", "event")
LSP_ASKED = {
    "practice": ("textDocument/hover", "textDocument/rename", "workspace/symbol", "workspace/configuration"),
    "sealed": ("textDocument/definition", "textDocument/references", "codeLens/resolve", "workspace/applyEdit"),
}
LSP_TOLD = {
    "practice": ("textDocument/didOpen", "textDocument/didSave", "window/logMessage", "exit"),
    "sealed": ("textDocument/didChange", "textDocument/didClose", "window/showMessage", "initialized"),
}
DAP_ASKED = {
    "practice": ("next", "pause", "threads", "scopes"),
    "sealed": ("stepIn", "continue", "variables", "attach"),
}
DAP_TOLD = {"practice": ("stopped", "output", "thread"), "sealed": ("continued", "breakpoint", "exited", "terminated")}


def message(rng: random.Random, side: Side) -> Iterator[Question]:
    """A cancel notification carries the id of another request, which does not make it one."""
    for kind, protocol in rounds([*product(KINDS[:2], ("lsp", "dap")), *[(each, "") for each in KINDS[2:] * 2]], rng):
        number, other = rng.sample(range(*NUMBERS[side]), 2)
        asked, command = rng.choice(LSP_ASKED[side]), rng.choice(DAP_ASKED[side])
        shapes: dict[tuple[str, str], list[dict[str, object]]] = {
            ("request", "lsp"): [{"id": number, "method": asked, "params": {}}],
            ("response", "lsp"): [{"id": number, "result": other}, {"id": number, "error": {"code": -32000 - other}}],
            ("request", "dap"): [{"seq": number, "command": command, "arguments": {"threadId": other}}],
            ("response", "dap"): [{"seq": number, "request_seq": other, "command": command, "success": True}],
            ("notification", ""): [
                {"method": rng.choice(LSP_TOLD[side]), "params": {"version": number}},
                {"method": "$/cancelRequest", "params": {"id": number}},
            ],
            ("event", ""): [{"seq": number, "event": rng.choice(DAP_TOLD[side]), "body": {"threadId": other}}],
        }
        yield Question(json.dumps(rng.choice(shapes[kind, protocol])), kind, KINDS)


PENDING = {
    "practice": ("hover", "rename", "symbol", "threads", "scopes", "evaluate"),
    "sealed": ("definition", "references", "codeLens", "variables", "stackTrace", "modules"),
}


def match(rng: random.Random, side: Side) -> Iterator[Question]:
    """Three requests wait; in DAP the response's own seq, also the number of one of them, must not mislead."""
    for place, is_dap in rounds(list(product((0, 1, 2, 0, 1, 2, None), (True, False))), rng):
        first, second, third, stray = rng.sample(range(*NUMBERS[side]), 4)
        waiting = dict(zip((first, second, third), rng.sample(PENDING[side], 3), strict=True))
        numbers = list(waiting)
        answered = stray if place is None else numbers[place]
        own = rng.choice([number for number in numbers if number != answered])
        answer = {"seq": own, "request_seq": answered} if is_dap else {"id": answered, "result": None}
        lines = [f"{number} {name}" for number, name in waiting.items()]
        yield Question("\n".join([*lines, json.dumps(answer)]), waiting.get(answered, "none"))


REQUEST_EXAMPLES = (
    ("Where does zip come from?", "definition"),
    ("All places with zip", "references"),
    ("Tell me about zip on mouse over", "hover"),
    ("Beautify zip.js", "formatting"),
    ("Propose words after zip.", "completion"),
    ("Set a stop at zip.js:7", "setBreakpoints"),
    ("How much is zip at this moment?", "evaluate"),
    ("One step, without entering zip", "next"),
)
POSITION_EXAMPLES = (
    ("LSP: 130:205", '{"line": 129, "character": 204}'),
    ("DAP: 150:141", '{"line": 150, "column": 141}'),
    ('Editor: {"line": 171, "character": 138}', '{"line": 172, "column": 139}'),
)
PARAMS_EXAMPLES = (
    ("Rename 151:140, zip", '{"position": {"line": 150, "character": 139}, "newName": "zip"}'),
    ("Breakpoint, zip.js line 150", '{"source": {"path": "zip.js"}, "breakpoints": [{"line": 150}]}'),
    ("Evaluate zip, frame 131", '{"expression": "zip", "frameId": 131}'),
    ("Thread 143, 160 frames", '{"threadId": 143, "levels": 160}'),
)
MESSAGE_EXAMPLES = (
    ('{"id": 140, "method": "shutdown"}', "request"),
    ('{"method": "window/workDoneProgress/cancel", "params": {"token": 150}}', "notification"),
    ('{"seq": 160, "event": "module"}', "event"),
    ('{"id": 170, "result": null}', "response"),
    ('{"seq": 180, "command": "restart"}', "request"),
    ('{"seq": 190, "request_seq": 180, "success": false}', "response"),
)
MATCH_EXAMPLES = (
    ('130 restart\n141 shutdown\n152 moniker\n{"seq": 141, "request_seq": 177}', "none"),
    ('140 shutdown\n151 restart\n162 moniker\n{"id": 151, "error": {}}', "restart"),
    ('140 moniker\n151 shutdown\n162 restart\n{"seq": 162, "request_seq": 140}', "moniker"),
)

FAMILIES = (
    Family(
        "request",
        f"Name the LSP or DAP request: {', '.join(METHODS)}.",
        "choice",
        request,
        examples=REQUEST_EXAMPLES,
    ),
    Family(
        "position",
        "Give the position as JSON. LSP counts from 0; DAP and the editor count from 1.",
        "json",
        position,
        examples=POSITION_EXAMPLES,
        max_tokens=24,
    ),
    Family(
        "params",
        "Give the params as JSON, without textDocument. LSP positions count from 0, the operator and DAP from 1.",
        "json",
        params,
        examples=PARAMS_EXAMPLES,
        max_tokens=40,
    ),
    Family(
        "message",
        "Name the kind. LSP: request has id and method, notification no id, response no method. DAP (type cut): seq.",
        "choice",
        message,
        examples=MESSAGE_EXAMPLES,
    ),
    Family(
        "match",
        "Name the request, or none, that the response answers: the one with its id (LSP) or request_seq (DAP).",
        "normalised",
        match,
        examples=MATCH_EXAMPLES,
    ),
)
