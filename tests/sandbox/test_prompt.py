"""The question for a proposal: what stands in it, and what of the files when there is not room for all."""

from __future__ import annotations

import json

import pytest

from cipher_nb.sandbox.outcome import Feedback
from cipher_nb.sandbox.prompt import estimated_tokens, first_messages, retry_messages

FORM = """\
Answer with one JSON object:
{"intent": "...", "edits": [...]}
Each edit is one of
{"op": "write", "path": "...", "text": "the whole file"}
{"op": "replace", "path": "...", "search": "text found once", "replace": "..."}
{"op": "delete", "path": "..."}
{"op": "rename", "path": "...", "to": "..."}"""
CELL_FORM = '{"op": "cell", "path": "...", "cell": "the id of a cell", "source": "the whole cell"}'


def question(root, intent="fix it", *, files=(), checks=(), scaffold="", **more):
    messages = first_messages(intent, root=root, scaffold=scaffold, files=files, checks=checks, **more)
    return messages[-1]["content"]


def functions(*names):
    return "".join(f"def {name}(a):\n    b = a + 1\n    return b\n\n\n" for name in names)


def test_an_ordinary_question_is_word_for_word_the_one_that_small_models_are_trained_on(project):
    messages = first_messages(
        "make add add",
        root=project,
        scaffold="Be careful.",
        files=["calc.py", "new.py", "notes.txt"],
        checks=["python -m pytest -q", "ruff check ."],
    )
    assert messages == (
        {"role": "system", "content": "Be careful."},
        {
            "role": "user",
            "content": "Task: make add add\n"
            "File calc.py:\n```\ndef add(a, b):\n    return a - b\n```\n"
            "File new.py: does not exist yet\n"
            "File notes.txt:\n```\none\n```\n"
            "Checks: python -m pytest -q; ruff check .\n"
            f"{FORM}",
        },
    )


def test_without_scaffold_files_and_checks_only_task_and_form_are_left(project):
    assert first_messages("x", root=project, scaffold="", files=[], checks=[]) == (
        {"role": "user", "content": f"Task: x\n{FORM}"},
    )


def test_of_a_long_file_the_lines_around_the_function_of_the_intent_are_shown(project):
    (project / "big.py").write_text(functions(*(f"step_{number}" for number in range(400))))
    text = question(project, "make step_200 subtract", files=["big.py"], prompt_tokens=300)
    shown = text.partition("File big.py ")[2].partition("\nAnswer")[0]
    assert shown.splitlines()[0] == "(lines 987-1060 of 1998):"
    assert "def step_200(a):\n    b = a + 1\n    return b\n" in shown
    assert shown.endswith("\n```")
    assert estimated_tokens(text) <= 300


def test_where_the_intent_names_several_functions_each_is_shown_with_its_lines(project):
    (project / "big.py").write_text(functions(*(f"step_{number}" for number in range(400))))
    text = question(project, "swap step_10 and step_300", files=["big.py"], prompt_tokens=220)
    assert text.startswith(
        "Task: swap step_10 and step_300\n"
        "File big.py (lines 48-66 of 1998):\n```\n    return b\n\n\ndef step_10(a):\n    b = a + 1\n"
    )
    assert "File big.py (lines 1498-1516 of 1998):\n```\n    return b\n\n\ndef step_300(a):\n" in text
    assert estimated_tokens(text) <= 220


def test_a_code_like_name_is_found_where_it_is_used_and_plain_words_are_not_looked_for(project):
    lines = [f"the value is {number}" for number in range(900)]
    lines[600] = "print(max_size)"
    (project / "big.txt").write_text("\n".join(lines))
    assert "\nprint(max_size)\n" in question(project, "raise max_size", files=["big.txt"], prompt_tokens=250)
    assert "File big.txt (lines 1-" in question(project, "change the value", files=["big.txt"], prompt_tokens=250)


def test_short_files_leave_their_share_to_the_long_one(project):
    (project / "big.py").write_text("line of text\n" * 1_000)
    text = question(project, files=["big.py", "calc.py", "notes.txt"], prompt_tokens=1_000)
    assert "File calc.py:\n```\ndef add" in text
    assert "File notes.txt:\n```\none\n```" in text
    assert "File big.py (lines 1-235 of 1000):" in text
    assert 990 <= estimated_tokens(text) <= 1_000


def test_a_file_that_the_intent_names_comes_before_the_others(project):
    for name in ("one.py", "two.py"):
        (project / name).write_text("line of text\n" * 150)
    text = question(project, "mend two.py", files=["one.py", "two.py"], prompt_tokens=720)
    assert "File two.py:\n" in text
    assert "File one.py (lines 1-" in text
    assert text.index("File one.py") < text.index("File two.py")


@pytest.mark.parametrize("tokens", [0, 130, 200, 400, 800, 2_000])
def test_the_budget_holds_and_no_line_is_cut(project, tokens):
    lines = [f"value_{number} = {'x' * (number % 90)}" for number in range(700)]
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text("\n".join(lines))
    text = question(project, "raise value_650", files=["a.py", "b.py", "c.py"], prompt_tokens=tokens)
    without = question(project, "raise value_650", prompt_tokens=tokens)
    named = "".join(f"File {name}: not shown, it is too long\n" for name in ("a.py", "b.py", "c.py"))
    assert estimated_tokens(text) <= max(tokens, estimated_tokens(without + named))
    shown = [line for line in text.splitlines() if line.startswith("value_")]
    assert set(shown) <= set(lines)
    assert ("value_650" in text.replace("raise value_650", "")) is (tokens >= 200)


def test_intent_scaffold_and_checks_are_never_cut(project):
    text = first_messages("do " * 3_000, root=project, scaffold="s" * 900, files=["calc.py"], checks=["c" * 900])
    assert text[0]["content"] == "s" * 900
    assert text[1]["content"] == (
        f"Task: {'do ' * 3_000}\nFile calc.py: not shown, it is too long\nChecks: {'c' * 900}\n{FORM}"
    )


def test_the_models_own_tokenizer_can_count(project):
    (project / "big.txt").write_text("\n".join("word " * 10 for _ in range(500)))
    text = question(project, files=["big.txt"], prompt_tokens=500, count_tokens=lambda text: len(text.split()))
    assert 480 <= len(text.split()) <= 500


def test_a_file_with_a_fence_in_it_gets_a_longer_one(project):
    (project / "doc.md").write_text("# Use\n```sh\nrun\n```\n")
    assert "File doc.md:\n````\n# Use\n```sh\nrun\n```\n````\n" in question(project, files=["doc.md"])


def test_a_binary_file_is_named_and_not_shown(project):
    (project / "logo.png").write_bytes(b"\x89PNG\0\0")
    assert "File logo.png: binary, 6 bytes\n" in question(project, files=["logo.png"])


def notebook(*cells):
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)})


def test_a_notebook_is_shown_as_cells_with_their_ids_and_the_form_says_how_to_edit_one(project):
    cells = (
        {"id": "intro", "cell_type": "markdown", "source": ["# Sum\n", "of two"], "metadata": {}},
        {"id": "b7", "cell_type": "code", "source": "1 + 1", "outputs": [{"text": "2"}], "metadata": {}},
    )
    (project / "sum.ipynb").write_text(notebook(*cells))
    assert question(project, files=["sum.ipynb"]) == (
        "Task: fix it\n"
        "File sum.ipynb:\n```\n# %% cell intro (markdown)\n# Sum\nof two\n# %% cell b7 (code)\n1 + 1\n```\n"
        f"{FORM}\n{CELL_FORM}"
    )


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"cells": 3}', '{"cells": [1]}', "[" * 99_999])
def test_a_broken_notebook_is_named_and_not_shown(project, text):
    (project / "bad.ipynb").write_text(text)
    assert question(project, files=["bad.ipynb"]) == (
        f"Task: fix it\nFile bad.ipynb: is no notebook that can be read\n{FORM}"
    )


def test_a_retry_goes_on_with_the_talk_and_a_clean_start_holds_the_lessons_only(project):
    first = first_messages("x", root=project, scaffold="s", files=[], checks=[])
    talk = retry_messages(first, "my reply", Feedback(2, "what failed", clean_start=False))
    assert talk == (
        *first,
        {"role": "assistant", "content": "my reply"},
        {"role": "user", "content": "what failed"},
    )
    assert retry_messages(first, "my reply", Feedback(3, "the lessons", clean_start=True)) == (
        {"role": "system", "content": "s"},
        {"role": "user", "content": f"Task: x\n{FORM}\nthe lessons"},
    )
