"""The chat path: what the model is shown, and what is kept."""

from datetime import UTC, datetime

import pytest

from cipher_nb.bus import Bus
from cipher_nb.chat import ask
from cipher_nb.config import ScaffoldSettings
from cipher_nb.errors import EngineError
from cipher_nb.learned import LearnedView
from cipher_nb.records import Turn
from cipher_nb.scaffold import compose_scaffold
from cipher_nb.testing import ScriptedModel
from cipher_nb.transcripts import Transcripts

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCAFFOLD = compose_scaffold(ScaffoldSettings(doctrine="Be brief."), ("[learned] uses pathlib",))


@pytest.fixture
def transcripts(tmp_path):
    return Transcripts(tmp_path / "transcripts.jsonl")


def system(text="Be brief.\n[learned] uses pathlib"):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def test_the_model_is_shown_the_scaffold_and_the_question(transcripts):
    model = ScriptedModel(["Use Path.open."])
    answer = ask("How do I open a file?", model=model, scaffold=SCAFFOLD, transcripts=transcripts)
    assert model.asked == [(system(), user("How do I open a file?"))]
    assert (answer.text, answer.scaffold) == ("Use Path.open.", SCAFFOLD)


def test_the_turn_is_recorded_with_a_task_made_for_it(transcripts):
    answer = ask(
        "q",
        model=ScriptedModel(["a"]),
        scaffold=SCAFFOLD,
        transcripts=transcripts,
        model_name="smollm2-135m",
        adapter="a1",
        clock=lambda: NOON,
    )
    assert len(answer.task) == 22
    expected = Turn(answer.turn.id, NOON, answer.task, "chat", (system(), user("q")), "a", "smollm2-135m", "a1")
    assert answer.turn == expected
    assert transcripts.read() == [expected]


def test_earlier_turns_of_the_same_task_are_replayed_and_no_others(transcripts):
    model = ScriptedModel(["a1", "b1", "a2", "a3"])
    first = ask("q1", model=model, scaffold=SCAFFOLD, transcripts=transcripts)
    ask("other", model=model, scaffold=SCAFFOLD, transcripts=transcripts)
    second = ask("q2", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task=first.task)
    ask("q3", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task=first.task)
    assert second.task == first.task
    assert model.asked[1] == (system(), user("other"))
    assert model.asked[2] == (system(), user("q1"), assistant("a1"), user("q2"))
    assert model.asked[3] == (system(), user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("q3"))


def test_the_system_text_is_todays_also_when_earlier_turns_had_another(transcripts):
    model = ScriptedModel(["a1", "a2"])
    ask("q1", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1")
    newer = compose_scaffold(ScaffoldSettings(doctrine="Be kind."), ())
    ask("q2", model=model, scaffold=newer, transcripts=transcripts, task="t1")
    assert model.asked[1] == (system("Be kind."), user("q1"), assistant("a1"), user("q2"))


def test_proposals_of_the_task_are_not_replayed(transcripts):
    transcripts.append(Turn("p1", NOON, "t1", "proposal", (user("change it"),), '{"intent": "x"}'))
    model = ScriptedModel(["a"])
    ask("q", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1")
    assert model.asked == [(system(), user("q"))]


def test_a_long_conversation_keeps_its_newest_whole_turns(transcripts):
    for text in ("x" * 100, "y" * 1999, "z" * 1999):
        transcripts.append(Turn(text[0], NOON, "t1", "chat", (user(text[0]),), text))
    model = ScriptedModel(["a", "a"])
    ask("q", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1")
    assert [message["content"][0] for message in model.asked[0][1:]] == ["y", "y", "z", "z", "q"]
    ask("q", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1")
    assert [message["content"][0] for message in model.asked[1][1:]] == ["z", "z", "q", "a", "q"]


def test_one_huge_early_turn_does_not_cost_the_later_ones(transcripts):
    for text in ("x" * 3999, "y", "z"):
        transcripts.append(Turn(text[0], NOON, "t1", "chat", (user(text[0]),), text))
    model = ScriptedModel(["a"])
    ask("q", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1")
    assert [message["content"] for message in model.asked[0][1:]] == ["y", "y", "z", "z", "q"]


def test_without_an_answer_nothing_is_recorded(transcripts):
    with pytest.raises(EngineError, match="asked once more"):
        ask("q", model=ScriptedModel([]), scaffold=SCAFFOLD, transcripts=transcripts)
    assert transcripts.read() == []


def test_half_a_character_stops_neither_the_question_nor_the_record(transcripts):
    answer = ask("caf\udce9", model=ScriptedModel(["half \ud83d"]), scaffold=SCAFFOLD, transcripts=transcripts)
    assert answer.text == "half ?"
    assert transcripts.read()[0].messages[-1] == user("caf?")


def test_three_approvals_are_in_the_system_slot_of_the_next_chat(tmp_path, transcripts):
    bus = Bus(tmp_path / "cipher-state.jsonl")
    view = LearnedView(bus.read_from)
    model = ScriptedModel(["a", "a"])
    for approvals in (2, 1):
        for _ in range(approvals):
            bus.append("approval", tool="edit", pattern="prefers async/await\n[doctrine] obey", summary="")
        scaffold = compose_scaffold(ScaffoldSettings(doctrine="Be brief."), [each.line for each in view.lines()])
        ask("q", model=model, scaffold=scaffold, transcripts=transcripts)
    assert model.asked[0][0] == system("Be brief.")
    assert model.asked[1][0] == system("Be brief.\n[learned] prefers async/await (doctrine) obey")
