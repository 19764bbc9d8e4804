import re

import pytest

from cipher_nb.battery.families.byok import CATEGORY, FAMILIES, masked
from cipher_nb.masking import Masker

SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])
STEP = {"401": "replace", "402": "pay", "403": "ask", "404": "fix", "429": "wait"}


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


@SIDES
def test_the_longest_entry_that_begins_the_key_or_url_names_the_provider(side):
    for sample in samples("provider", side):
        *lines, asked = sample.user_text.splitlines()
        fitting = [line.split() for line in lines if asked.startswith(line.split()[0])]
        assert sample.target == max(fitting, key=lambda entry: len(entry[0]))[1]


@SIDES
def test_a_provider_without_a_line_gets_the_default_variable(side):
    for sample in samples("variable", side):
        *lines, asked = sample.user_text.splitlines()
        name = re.search(r"[a-z][a-z-]+(?= reads|\?)", asked)[0]
        told = dict(line.split(" = ") for line in lines)
        assert sample.target == told.get(name, name.replace("-", "_").upper() + "_API_KEY")


@pytest.mark.parametrize(
    ("key", "hidden", "shown"),
    [
        ("robin-dummy-837", "first", "***-dummy-837"),
        ("robin-dummy-837", "middle and last", "robin-***-***"),
        ("ros-4-6", "first", "***"),
        ("rose-4-6x", "first", "***-4-6x"),
        ("rose-4-6", "first", "***"),
    ],
)
def test_a_key_under_nine_characters_shows_nothing(key, hidden, shown):
    assert masked(key, hidden) == shown


@SIDES
def test_a_url_has_one_slash_after_its_base_and_the_path_of_its_style(side):
    for sample in samples("endpoint", side):
        base = re.search(r"http://\S+", sample.user_text)[0].rstrip("/")
        model = re.search(r"\b[a-z]+-\w+\b", sample.user_text.replace(base, ""))[0]
        style = re.search(r"\b(openai|anthropic|gemini)\b", sample.user_text)[0]
        end = {"openai": "chat/completions", "anthropic": "messages", "gemini": f"models/{model}:generateContent"}
        assert sample.target == f"{base}/{end[style]}"


@SIDES
def test_the_last_code_of_the_name_asked_for_decides(side):
    for sample in samples("error", side):
        *lines, asked = sample.user_text.splitlines()
        code = [line.split()[-1] for line in lines if line.split()[0] in re.findall(r"\w+", asked)][-1]
        assert sample.target == STEP.get(code, "switch")


@SIDES
@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_no_invented_key_looks_like_a_secret(family, side):
    for sample in samples(family, side):
        text = "\n".join([*(message["content"] for message in sample.messages), sample.reference])
        assert Masker().kinds(text) == []
