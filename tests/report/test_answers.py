"""The answers that changed: which come first, and how both sides are shown."""

from dataclasses import replace

from cipher_nb.battery.families import sealed
from cipher_nb.battery.own import read_own
from cipher_nb.files import write_json
from cipher_nb.report.answers import improvements, regressions
from cipher_nb.report.difference import marked
from cipher_nb.report.view import NightView
from tests.report import nights

DEL = '<del style="background:#d55e0033;color:inherit;text-decoration:line-through">'
INS = '<ins style="background:#0072b233;color:inherit;text-decoration:underline">'


def test_answers_take_turns_over_categories_the_worst_one_first_and_bring_their_question(folder):
    nights.judged(folder, {**nights.WORSE, "keybindings": -4}, "archived", "x")
    view = NightView.load(folder)
    worse, better = regressions(view, 4).rows, improvements(view, 4).rows
    assert [each.answer.category for each in worse] == ["settings", "keybindings"] * 2
    assert [each.answer.category for each in better] == ["command registry"] * 4
    first = better[0]
    assert (first.answer.production, first.answer.candidate) == (0.0, 1.0)
    assert first.answer.candidate_answer == first.target != ""
    (sample,) = [each for each in sealed("command registry", 48, seed=1) if each.id == first.answer.sample]
    assert first.question == sample.user_text != ""


def test_a_lost_must_pass_sample_comes_first_and_says_so(folder):
    nights.wide(folder, must_pass={"asked": 3, "lost": ["memory-061"]})
    first, second, *_ = regressions(NightView.load(folder)).rows
    assert (first.answer.sample, first.must_pass) == ("memory-061", True)
    assert (second.answer.category, second.must_pass) == ("training gate", False)
    assert "<strong>must pass</strong>" in first.html()


def test_a_night_that_tells_its_settings_brings_its_questions(folder):
    nights.wide(folder)
    told = {each.answer.category: each for each in regressions(NightView.load(folder), 40).rows}
    assert told["keybindings"].question != ""
    assert told["byok"].question == ""  # made up for this test, so the battery does not hold it


def test_ten_are_shown_unless_fewer_are_asked_for(folder):
    nights.wide(folder)
    view = NightView.load(folder)
    assert len(regressions(view).rows) == 10
    assert len(regressions(view, 3).rows) == 3


def test_the_operators_own_samples_bring_their_question_too(tmp_path):
    folder = tmp_path / ".aide" / "artifacts" / "nights" / "2026-11-30-0200"
    folder.mkdir(parents=True)
    nights.staged(folder)
    own = tmp_path / ".aide" / "battery" / "git.jsonl"
    own.parent.mkdir()
    own.write_text('{"id": "bump", "input": "The next patch version after 1.4.9?", "target": "1.4.10"}\n')
    (sample,) = read_own(own.parent)
    for side, score in (("production", 1.0), ("candidate", 0.0)):
        with (folder / f"{side}.jsonl").open("a") as file:
            file.write(f'{{"sample": "{sample.id}", "category": "git", "score": {score}, "answer": "x"}}\n')
    (asked,) = [each for each in regressions(NightView.load(folder), 99).rows if each.answer.category == "git"]
    assert (asked.question, asked.target) == ("The next patch version after 1.4.9?", "1.4.10")


def test_answers_to_samples_the_battery_does_not_hold_have_no_question(folder):
    nights.staged(folder)
    for name in ("production", "candidate"):
        path = folder / f"{name}.jsonl"
        path.write_text(path.read_text().replace('"per_category":48', '"per_category":1'))
    better = improvements(NightView.load(folder), 1).rows
    assert [(each.question, each.target) for each in better] == [("", "")]


def test_without_answers_there_is_a_sentence(folder):
    assert repr(regressions(NightView.load(folder))) == "There are no answers of both sides to compare."
    nights.judged(folder, {"keybindings": 4}, "staged", "")
    assert regressions(NightView.load(folder)).html() == "<p>No answer got worse.</p>"


def test_what_only_one_side_says_is_struck_out_or_underlined():
    assert marked("open the <b> file now", "open a <b> file") == (
        f"open {DEL}the</del> &lt;b&gt; file{DEL} now</del>",
        f"open {INS}a</ins> &lt;b&gt; file",
    )


def test_a_stretch_of_changed_words_is_one_mark():
    before, after = marked("it reads one two three", "it reads four five six")
    assert before == f"it reads {DEL}one two three</del>"
    assert after == f"it reads {INS}four five six</ins>"


def test_texts_without_a_word_in_common_are_left_as_they_are():
    assert marked("yes & sure", "no way") == ("yes &amp; sure", "no way")


def test_hostile_answers_are_bounded_and_inert(folder):
    nights.wide(folder)
    worst = regressions(NightView.load(folder)).rows[0]
    answer = replace(worst.answer, production_answer=nights.HOSTILE * 999, candidate_answer=nights.HOSTILE)
    html = replace(worst, answer=answer, question=nights.HOSTILE * 999, baseline=nights.HOSTILE).html()
    assert len(html) < 6_000
    assert "<script" not in html
    assert "<img" not in html
    assert "\u202e" not in html


def test_a_terminal_gets_a_line_for_each(folder):
    nights.wide(folder)
    write_json(folder / "gate.json", {})
    line = repr(regressions(NightView.load(folder), 1))
    assert line == "agent contracts-049: 'the agent contracts answer is number 49' -> " + (
        "'the agent contracts answer is number 4s, said candidate'"
    )
