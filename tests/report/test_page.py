"""The page of a night: made for every ending, useful, self-contained, and inert whatever stands in it."""

import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from cipher_nb.errors import CipherError
from cipher_nb.files import write_json
from cipher_nb.report.page import write
from tests.report import nights


def page_of(folder):
    return write(folder).read_text(encoding="utf-8")


def words_of(html):
    """Return the text of a page, its markup gone and its white space folded."""
    body = html[html.index("<body>") :]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found, self.handlers, self.links = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        self.links += [value for name, value in attributes if name in ("href", "src", "srcset", "action")]


def test_a_staged_night_shows_the_changelog_exactly_and_how_to_answer_it(folder):
    changelog = nights.staged(folder)
    html = page_of(folder)
    shown = re.search(r'<pre class="changelog">(.*?)</pre>', html, re.DOTALL)[1]
    assert unescape(shown) == changelog.text()
    commands = re.findall(r'<code class="command">([^<]*)</code>', html)
    assert commands == [
        f"cipher-nb apply 2026-11-30-0200@{changelog.hash}",
        "cipher-nb review 2026-11-30-0200",
        f"cipher-nb skip 2026-11-30-0200@{changelog.hash}",
    ]
    assert "APPLY asks a second time" in html
    assert "<button" not in html


def test_the_headline_puts_the_verdict_first(folder):
    nights.staged(folder)
    html = page_of(folder)
    heading = re.search(r"<h1>(.*?)</h1>", html, re.DOTALL)[1]
    assert re.sub(r"<[^>]*>", "", heading) == (
        "INCONCLUSIVE: composite +0.12; adapter q8-4f1c09ab72de staged, waiting for your decision"
    )
    assert re.search(r"<title>(.*?)</title>", html)[1] == "INCONCLUSIVE · night 2026-11-30-0200 · cipher-nb"


def test_rule_and_evidence_are_told_apart(folder):
    nights.staged(folder)
    words = words_of(page_of(folder))
    assert "The rule passed Every category delta >= -0.05 and composite delta >= 0." in words
    assert "The evidence INCONCLUSIVE A drop of 0.05 is not ruled out in" in words
    assert "25 better, 1 worse" in words


def test_anchors_are_named(folder):
    nights.staged(folder)
    report = nights.gate(folder)
    anchors = {"base": {"passed": True, "reason": ""}, "best": {"passed": False, "reason": "composite fell"}}
    write_json(folder / "gate.json", {**report, "anchors": anchors})
    words = words_of(page_of(folder))
    assert "Against base passed" in words
    assert "Against best failed: composite fell" in words


@pytest.mark.slow
def test_guards_cost_overfitting_and_leaks_have_their_place(folder):
    nights.wide(folder, drift={"nats_per_token": 0.7, "budget": 0.5, "passed": False})
    words = words_of(page_of(folder))
    for expected in (
        "The guards failed The candidate's words moved further from the base's than allowed.",
        "Must-pass samples 14 asked, none lost",
        "What it cost A category that is decided is asked no further. Answers asked 1,909 of 4,873 (39%)",
        "Learned, or learned by heart Category Samples Practice side Sealed side Gap math 96 0.72 0.39 +0.33",
        "Retired, because they leaked Retired sample Category Words it shares with the dataset exports-3b1c09d2aa51",
    ):
        assert expected in words


def test_an_older_night_has_no_empty_places_for_what_it_did_not_know(folder):
    nights.staged(folder)
    words = words_of(page_of(folder))
    for absent in ("The guards", "What it cost", "by heart", "leaked"):
        assert absent not in words


@pytest.mark.slow
def test_the_page_shows_five_regressions_with_their_differences(folder):
    nights.wide(folder)
    html = page_of(folder)
    worse = html[html.index("Got worse") : html.index("Got better")]
    assert worse.count("<article") == 5
    assert '<ins style="' in worse


def test_a_staged_night_shows_what_was_learned_and_what_it_was_made_of(folder):
    nights.staged(folder)
    words = words_of(page_of(folder))
    for expected in (
        "[learned] prefers pathlib over os.path new",
        "New pairs of approved work 12",
        "Practice pairs 96",
        "Replay pairs 46 (30%)",
        "no check of it passed 2 task-17",
        "Tokens 41,872",
        "Base weights as served",
        "Adapter file 4.9 MB",
        "rank 8, alpha 16, lr 0.0005, epochs 2",
        "Took 7 min 42 s",
        "Of 192 answers, 25 got better and 1 got worse.",
    ):
        assert expected in words


@pytest.mark.parametrize(
    ("make", "heading", "said", "command"),
    [
        (nights.archived, "REGRESSION: ", "The rule failed: category below -0.05: settings", "cipher-nb adapters"),
        (nights.nothing, "Nothing to learn: ", "2 new pairs, 8 are needed", "cipher-nb night --since 72h"),
        (nights.stopped, "Stopped: ", "The operator came back during training", "cipher-nb night"),
        (nights.failed, "COULD_NOT_RUN: ", "the server did not start: address already in use.", "cipher-nb doctor"),
        (nights.died, "No ending: ", "Either it still runs, or it was killed", "cipher-nb night status"),
    ],
)  # fmt: skip
def test_every_other_ending_says_why_and_what_to_do_next(folder, make, heading, said, command):
    make(folder)
    html = page_of(folder)
    title = re.sub(r"<[^>]*>", "", re.search(r"<h1>(.*?)</h1>", html, re.DOTALL)[1])
    assert title.startswith(heading)
    assert said in words_of(html)
    assert f'<code class="command">{command}</code>' in html
    assert "cipher-nb apply" not in html


def test_a_night_that_left_nothing_still_has_a_page(folder):
    words = words_of(page_of(folder))
    assert "No ending : no stage of the night was finished" in words
    assert "goes on with collect" in words


def test_unfinished_stages_are_listed(folder):
    nights.failed(folder)
    words = words_of(page_of(folder))
    assert "collect done train done export done battery not reached gate not reached" in words


@pytest.mark.parametrize("status", ["applied", "skipped", "archived"])
def test_a_changelog_that_no_longer_waits_offers_no_command(folder, status):
    changelog = nights.staged(folder)
    write_json(folder / "changelog.json", {**changelog.to_json(), "status": status})
    assert "cipher-nb apply" not in page_of(folder)


@pytest.mark.slow
@pytest.mark.parametrize("junk", ["{}", "[]", "null", "{", '{"rule": 3, "evidence": [], "categories": {"a": 1}}'])
def test_no_part_can_keep_the_page_from_being_made(folder, junk):
    nights.staged(folder)
    for part in sorted(folder.glob("*.json")):
        whole = part.read_bytes()
        part.write_text(junk)
        assert "</html>" in page_of(folder), part.name
        part.write_bytes(whole)


def test_nothing_in_the_page_reaches_out_or_runs(folder):
    nights.staged(folder)
    tags = Tags(page_of(folder))
    assert not {"script", "link", "iframe", "object", "form", "button"} & set(tags.found)
    assert tags.handlers == []
    assert {link[:11] for link in tags.links} == {"data:image/"}


def test_headings_and_tables_are_ones_a_screen_reader_can_use(folder):
    nights.staged(folder)
    html = page_of(folder)
    tags = Tags(html)
    assert tags.found.count("h1") == 1
    assert '<html lang="en">' in html
    levels = [int(tag[1]) for tag in tags.found if re.fullmatch(r"h\d", tag)]
    assert all(below <= above + 1 for above, below in pairwise(levels))
    assert len(re.findall(r"<th(?=[ >])", html)) == len(re.findall(r"<th [^>]*scope=", html))


def test_hostile_text_is_shown_and_does_nothing(folder):
    nights.judged(folder, nights.BETTER, "staged", nights.HOSTILE, answer=nights.HOSTILE * 2_000)
    lines = [f"[learned] {nights.HOSTILE}"]
    nights.collect(folder, learned=lines, learned_new=[nights.HOSTILE], dropped=[[nights.HOSTILE, nights.HOSTILE]])
    nights.end(folder, "staged", f"PROVEN: {nights.HOSTILE}", nights.HOSTILE)
    write_json(folder / "stage.json", {"adapter": nights.HOSTILE, "status": "staged", "reason": nights.HOSTILE})
    html = page_of(folder)
    tags = Tags(html)
    assert "script" not in tags.found
    assert tags.handlers == []
    assert tags.found.count("title") == 1
    assert {link[:11] for link in tags.links} == {"data:image/"}
    assert "\u202e" not in html
    assert "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "\\u202egnp.exe" in html
    assert len(html) < 400_000


def test_a_changelog_that_cannot_be_trusted_breaks_no_command(folder):
    changelog = nights.staged(folder)
    write_json(folder / "changelog.json", {**changelog.to_json(), "ref": '"><img src=x onerror=alert(1)>@1'})
    tags = Tags(page_of(folder))
    assert tags.handlers == []


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CipherError, match=r"the page .*report\.html could not be written"):
        write(tmp_path / "file" / "2026-11-30-0200")


@pytest.mark.slow
def test_writing_again_gives_the_same_bytes(folder):
    nights.staged(folder)
    assert write(folder).read_bytes() == write(folder).read_bytes()
