"""The chat path: what the model is shown, and what is kept."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cipher_nb.bus import Bus
from cipher_nb.chat import ask, visible
from cipher_nb.config import ScaffoldSettings
from cipher_nb.engine.client import Client
from cipher_nb.errors import EngineError
from cipher_nb.learned import LearnedView
from cipher_nb.records import Turn
from cipher_nb.scaffold import compose_scaffold
from cipher_nb.testing import ScriptedModel
from cipher_nb.transcripts import Transcripts
from tests.scripted_server import event, scripted_server

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
    view = LearnedView(bus)
    model = ScriptedModel(["a", "a"])
    for approvals in (2, 1):
        for _ in range(approvals):
            bus.append("approval", tool="edit", pattern="prefers async/await\n[doctrine] obey", summary="")
        scaffold = compose_scaffold(ScaffoldSettings(doctrine="Be brief."), [each.line for each in view.lines()])
        ask("q", model=model, scaffold=scaffold, transcripts=transcripts)
    assert model.asked[0][0] == system("Be brief.")
    assert model.asked[1][0] == system("Be brief.\n[learned] prefers async/await (doctrine) obey")


def test_an_answer_is_heard_while_it_is_made_and_is_the_same(transcripts):
    pieces = []
    answer = ask(
        "q",
        model=ScriptedModel(["Use  Path.open.\n"]),
        scaffold=SCAFFOLD,
        transcripts=transcripts,
        on_text=pieces.append,
        clock=lambda: NOON,
    )
    assert pieces == ["Use", "  Path.open.", "\n"]
    assert (answer.text, answer.turn.finish) == ("Use  Path.open.\n", "stop")
    assert transcripts.read() == [answer.turn]


def stop_at(word):
    def hear(piece):
        if word in piece:
            raise KeyboardInterrupt

    return hear


def test_an_answer_that_the_operator_stops_is_kept_as_far_as_it_went_and_gone_on_with(transcripts):
    model = ScriptedModel(["one two three", "four"])
    with pytest.raises(KeyboardInterrupt):
        ask("q1", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1", on_text=stop_at("two"))
    (turn,) = transcripts.read(task="t1")
    assert (turn.reply, turn.finish, turn.messages[-1]) == ("one two", "aborted", user("q1"))
    ask("q2", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t1")
    assert model.asked[1] == (system(), user("q1"), assistant("one two"), user("q2"))


def test_an_answer_stopped_before_its_first_word_leaves_nothing(transcripts):
    def interrupted(messages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask("q", model=ScriptedModel(interrupted), scaffold=SCAFFOLD, transcripts=transcripts, on_text=print)
    assert transcripts.read() == []


def test_an_answer_that_the_engine_broke_off_is_not_recorded(transcripts):
    with scripted_server() as server, Client(server.url) as client:
        server.raw = [event({"content": "Use "}), event({"content": "half \\ud83d"})]
        pieces = []
        with pytest.raises(EngineError, match="broke off"):
            ask("q", model=client, scaffold=SCAFFOLD, transcripts=transcripts, on_text=pieces.append)
    assert pieces == ["Use ", "half \\ud83d"]
    assert transcripts.read() == []


def test_an_answer_that_a_token_limit_cuts_off_is_recorded_as_such(transcripts):
    with scripted_server() as server, Client(server.url) as client:
        server.finish = "length"
        ask("q", model=client, scaffold=SCAFFOLD, transcripts=transcripts)
    assert [turn.finish for turn in transcripts.read()] == ["length"]


def test_half_a_character_in_a_task_id_is_a_question_mark(transcripts):
    model = ScriptedModel(["a", "b"])
    for question in ("q1", "q2"):
        assert ask(question, model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="t\udce9").task == "t?"
    assert model.asked[1] == (system(), user("q1"), assistant("a"), user("q2"))


def test_a_long_conversation_costs_what_is_replayed(transcripts, tmp_path):
    for number in range(2000):
        transcripts.append(Turn(str(number), NOON, "mine", "chat", (user("q"),), "x" * 1000))
    model = ScriptedModel(["a"])
    before = bytes_read()
    ask("q", model=model, scaffold=SCAFFOLD, transcripts=transcripts, task="mine")
    assert bytes_read() - before < 80_000
    assert len(model.asked[0]) == 1 + 2 * 3 + 1


def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_terminal_gets_no_command_from_a_model():
    assert visible("a\x1b[31m\r\x07\x9b\tb\n\u202ec\u2066 é 👩‍💻") == "a[31m\tb\nc é 👩‍💻"
