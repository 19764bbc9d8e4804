import pytest

from cipher_nb.training.data.shapes import UnknownShapeError, conversation

ASKED = ({"role": "user", "content": "Hi?"},)
SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}]},
        {"conversations": [{"from": "human", "value": "Hi?"}, {"from": "gpt", "value": "Hello."}]},
        {"prompt": "Hi?", "completion": "Hello."},
        {"prompt": "Hi?", "response": "Hello."},
        {"instruction": "Hi?", "input": "", "output": "Hello."},
        {"instruction": "Hi?", "output": "Hello.", "input": None, "id": 7},
        {"question": "Hi?", "answer": "Hello."},
        {"prompt": "other", "messages": [*ASKED, {"role": "assistant", "content": "Hello."}, *ASKED]},
    ],
)
def test_every_known_shape_gives_the_question_and_the_answer(row):
    assert conversation(row) == (ASKED, "Hello.")


def test_the_input_of_an_instruction_stands_below_it():
    prompt, answer = conversation({"instruction": "Add.", "input": "1 and 2", "output": "3"})
    assert (prompt[0]["content"], answer) == ("Add.\n\n1 and 2", "3")


def test_of_several_turns_the_last_answer_is_learned():
    turns = [("system", "Be brief."), ("human", "One?"), ("gpt", "1"), ("human", "Two?"), ("gpt", "2")]
    prompt, answer = conversation({"conversations": [{"from": who, "value": text} for who, text in turns]})
    assert [turn["content"] for turn in prompt] == ["Be brief.", "One?", "1", "Two?"]
    assert (prompt[0]["role"], prompt[2]["role"], answer) == ("system", "assistant", "2")


def test_a_system_text_beside_the_turns_goes_first():
    assert conversation({"system": "Be brief.", "question": "Hi?", "answer": "Hello."}) == ((SYSTEM, *ASKED), "Hello.")


def test_there_is_one_system_text():
    turns = [SYSTEM, *ASKED, {"role": "assistant", "content": "Hello."}]
    assert conversation({"system": "Be long.", "messages": turns}) == ((SYSTEM, *ASKED), "Hello.")


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ([1], "it is a JSON list"),
        ("text", "it is a JSON text"),
        ({"text": "Hi? Hello.", "n": 1}, "it has the keys 'text', 'n'"),
        ({}, "it has no keys"),
        ({"prompt": "Hi?"}, "it has the keys 'prompt'"),
        ({"prompt": ["Hi?"], "completion": "Hello."}, "'prompt' is a JSON list, not a text"),
        ({"question": "Hi?", "answer": 7}, "'answer' is a JSON number, not a text"),
        ({"messages": "Hi?"}, "'messages' is a JSON text, not a list of turns"),
        ({"messages": ["Hi?"]}, "turn 1 of 'messages' is a JSON text"),
        ({"messages": [*ASKED, {"role": "tool", "content": "x"}]}, "turn 2 of 'messages' has role 'tool'"),
        ({"messages": [{"role": "user"}]}, "'content' is missing"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "'content' is a JSON list, not a text"),
        ({"messages": list(ASKED)}, "no turn is the assistant's"),
        (
            {"messages": [SYSTEM, {"role": "assistant", "content": "Hello."}]},
            "the turn before the assistant's last one is not the user's",
        ),
    ],
)
def test_what_is_in_no_known_shape_is_refused_by_what_it_is(row, found):
    with pytest.raises(UnknownShapeError) as raised:
        conversation(row)
    assert str(raised.value) == found
