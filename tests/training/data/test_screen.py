import random
import time

import pytest

from cipher_nb.battery.families import CATEGORIES, sealed
from cipher_nb.training.data.duplicates import Duplicates, runs, words
from cipher_nb.training.data.general_prompts import GENERAL_PROMPTS
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.screen import Seen, screen
from tests.training.conftest import pair

NUMBERS = [f"word{number}" for number in range(400)]


def question(count, *, changed=0):
    """Return `count` words, the last `changed` of them others: each takes three shingles of the count - 2."""
    return " ".join([*NUMBERS[: count - changed], *(f"other{number}" for number in range(changed))])


@pytest.mark.parametrize(
    ("count", "changed", "near"),
    [(21, 1, True), (20, 1, False), (40, 2, True), (39, 2, False), (3, 1, False)],
    ids=["18 of 20 shingles", "17 of 19", "36 of 40", "35 of 39", "too short"],
)
def test_near_begins_at_nine_tenths_of_all_shingles(count, changed, near):
    first, second = pair(question(count), "done"), pair(question(count, changed=changed), "done")
    union = len(set(runs(words(first.question), 3)) | set(runs(words(second.question), 3)))
    common = len(set(runs(words(first.question), 3)) & set(runs(words(second.question), 3)))
    assert (common * 10 >= union * 9) is near
    assert (screen([first, second], ())[1] == [(second.id, f"near duplicate of {first.id}")]) is near


def test_near_duplicates_are_those_that_comparing_every_pair_with_every_other_finds():
    rng = random.Random(5)
    bodies = [rng.choices(NUMBERS[:60], k=rng.randint(1, 60)) for _ in range(60)]
    pairs = [pair(" ".join(_altered(rng.choice(bodies), rng)), rng.choice(["a", "b"]), task=str(n)) for n in range(900)]
    dropped = dict(screen(pairs, ())[1])
    assert dropped == _by_comparing_all(pairs)
    assert {reason.split(" of ")[0] for reason in dropped.values()} == {"duplicate", "near duplicate"}
    one_by_one = Duplicates()  # not knowing what will be asked
    assert {each.id: found for each in pairs if (found := one_by_one(each))} == dropped


def _altered(body, rng):
    body = list(body)
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        if body:
            body[rng.randrange(len(body))] = rng.choice(NUMBERS)
    return body


def _by_comparing_all(pairs):
    kept, dropped = [], {}
    for each in pairs:
        answer, asked = words(each.response), words(each.question)
        shingles = set(runs(asked, 3))
        for other, earlier_answer, earlier, earlier_shingles in kept:
            if answer != earlier_answer:
                continue
            whole = len(shingles | earlier_shingles)
            if asked == earlier or (whole and 10 * len(shingles & earlier_shingles) >= 9 * whole):
                dropped[each.id] = f"{'' if asked == earlier else 'near '}duplicate of {other.id}"
                break
        else:
            kept.append((each, answer, asked, shingles))
    return dropped


@pytest.mark.slow
def test_twenty_thousand_pairs_with_one_answer_are_screened_in_seconds():
    rng = random.Random(1)
    pairs = [pair(" ".join(rng.choices(NUMBERS, k=60)), "done", task=str(number)) for number in range(20_000)]
    began = time.process_time()
    kept, _ = screen(pairs, [sample.user_text for sample in sealed("settings", 64, seed=7)])
    assert time.process_time() - began < 30
    assert len(kept) == 20_000


def test_a_secret_of_the_operators_own_pattern_is_met():
    leaking = pair("Who is it for?", "for project bluebird")
    kept, dropped = screen([leaking], (), secrets=["bluebird"])
    assert (kept, dropped) == ([], [(leaking.id, "holds an operator's own pattern")])


@pytest.mark.parametrize(("asked", "answer", "what"), [("Say nothing.", " \n", "answer"), (" ", "Yes?", "question")])
def test_what_is_empty_teaches_nothing(asked, answer, what):
    empty = pair(asked, answer)
    assert screen([empty], ())[1] == [(empty.id, f"its {what} is empty")]


def test_what_is_dropped_is_no_longer_in_the_way_of_what_repeats_it():
    leaking, clean = pair(question(30), "AKIAIOSFODNN7EXAMPLE"), pair(question(30), "done")
    assert screen([leaking, clean], ())[0] == [clean]


def test_there_are_at_least_300_general_prompts_and_each_is_one_of_its_kind():
    assert len(GENERAL_PROMPTS) >= 300
    pairs = [Pair(({"role": "user", "content": text},), "yes", source="replay") for text in GENERAL_PROMPTS]
    assert screen(pairs, ())[1] == []


def test_no_general_prompt_shares_eight_words_with_a_sealed_sample():
    texts = [sample.user_text for name in CATEGORIES for sample in sealed(name, 256, seed=7)]
    seen = Seen(texts)
    assert seen.run_in(texts[0])
    assert [text for text in GENERAL_PROMPTS if seen.run_in(text) or seen.is_whole(text)] == []
