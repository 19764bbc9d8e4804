"""cipher.toml: what it may say, and how it says no."""

import re
import tomllib

import pytest

from cipher_nb.config import TEMPLATE, Config, ScaffoldSettings, load_config, settings_as_json
from cipher_nb.errors import ConfigError


def load(tmp_path, text):
    path = tmp_path / "cipher.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def refusal(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(tmp_path), "DIR")


def test_a_missing_file_means_the_defaults(tmp_path):
    config = load_config(tmp_path / "cipher.toml")
    assert config == Config()
    assert (config.training.rank, config.training.alpha, config.training.lr, config.training.epochs) == (8, 16, 5e-4, 2)


def test_the_template_changes_nothing(tmp_path):
    assert load(tmp_path, TEMPLATE) == Config()


def test_the_template_names_every_key_with_its_real_default(tmp_path):
    uncommented = re.sub(r"(?m)^# (?=\w+ = )", "", TEMPLATE)
    assert load(tmp_path, uncommented) == Config()
    named = {section: set(keys) for section, keys in tomllib.loads(uncommented).items()}
    assert named == {section: set(settings_as_json(values)) for section, values in vars(Config()).items()}


def test_given_keys_are_kept_and_the_others_stay(tmp_path):
    config = load(tmp_path, '[scaffold]\nmemory = ["uses uv", "Python 3.11"]\n[night]\nsince_hours = 48\n')
    assert config.scaffold.memory == ("uses uv", "Python 3.11")
    assert config.night.since_hours == 48.0
    assert type(config.night.since_hours) is float
    assert config.scaffold.tier == "micro"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[night]\nsinc_hours = 1", "[night] sinc_hours is unknown; did you mean since_hours? (DIR/cipher.toml)"),
        (
            "[nigth]\n",
            "nigth is unknown; did you mean night? (DIR/cipher.toml)",
        ),
        (
            "[model]\nq = 1",
            "[model] q is unknown; known: name (DIR/cipher.toml)",
        ),
        ("night = 3", "night = 3 must be a table, written [night] (DIR/cipher.toml)"),
        ('[engine]\nslots = "4"', "[engine] slots = '4' must be of type int (DIR/cipher.toml)"),
        ("[engine]\nslots = true", "[engine] slots = True must be of type int (DIR/cipher.toml)"),
        ("[engine]\nslots = 4.0", "[engine] slots = 4.0 must be of type int (DIR/cipher.toml)"),
        ("[engine]\nslots = -1", "[engine] slots = -1 must be a number from 0 up (DIR/cipher.toml)"),
        ("[training]\nlr = nan", "[training] lr = nan must be a number from 0 up (DIR/cipher.toml)"),
        ("[sandbox]\ntimeout_s = inf", "[sandbox] timeout_s = inf must be a number from 0 up (DIR/cipher.toml)"),
        ('[sandbox]\nchecks = "pytest"', "[sandbox] checks = 'pytest' must be a list of texts (DIR/cipher.toml)"),
        ("[sandbox]\nchecks = [1]", "[sandbox] checks = [1] must be a list of texts (DIR/cipher.toml)"),
        (
            '[training]\nload_in_4bit = "maybe"',
            "[training] load_in_4bit = 'maybe' must be one of 'auto', 'yes', 'no' (DIR/cipher.toml)",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_the_way_out(tmp_path, text, message):
    assert refusal(tmp_path, text) == message


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rank = 0", "rank = 0 must be at least 1"),
        ("alpha = 0", "alpha = 0 must be at least 1"),
        ("epochs = 0", "epochs = 0 must be at least 1"),
        ("batch_size = 0", "batch_size = 0 must be at least 1"),
        ("max_tokens = 0", "max_tokens = 0 must be at least 1"),
        ("micro_batch_tokens = 0", "micro_batch_tokens = 0 must be at least 1"),
        ("lr = 0", "lr = 0.0 must be above 0; the default is 0.0005"),
        ("max_grad_norm = 0.0", "max_grad_norm = 0.0 must be above 0; the default is 1.0"),
        ("warmup_share = 1.5", "warmup_share = 1.5 must be from 0 to 1"),
        ("replay_share = 1.0", "replay_share = 1.0 must be at least 0 and below 1"),
        ('schedule = "step"', "schedule = 'step' must be one of 'linear', 'cosine', 'constant'"),
        ('rejections = "dpo"', "rejections = 'dpo' must be one of 'ignore', 'kto'"),
        ('targets = "q_proj"', "targets = 'q_proj' must be a list of texts"),
        ("learning_rate = 1e-4", "learning_rate is unknown; known: rank, alpha, targets, lr, epochs"),
    ],
)
def test_training_refuses_what_nothing_can_be_trained_with(tmp_path, setting, message):
    found = refusal(tmp_path, f"[training]\n{setting}")
    assert found.startswith(f"[training] {message}")
    assert found.endswith(" (DIR/cipher.toml)")


def test_broken_toml_is_one_line_that_names_the_file(tmp_path):
    assert refusal(tmp_path, "[model\nname = 3").startswith("DIR/cipher.toml is not valid TOML: ")


def test_a_file_that_is_not_utf8_is_one_line_that_names_the_file(tmp_path):
    path = tmp_path / "cipher.toml"
    path.write_bytes(b'[model]\nname = "\xff"')
    with pytest.raises(ConfigError, match=re.escape(f"{path} is not valid TOML: ")):
        load_config(path)


def test_settings_become_plain_json():
    assert settings_as_json(ScaffoldSettings(doctrine="d", memory=("m",))) == {
        "tier": "micro",
        "small_lines": 48,
        "small_bytes": 2048,
        "large_lines": 120,
        "large_bytes": 8192,
        "doctrine": "d",
        "memory": ("m",),
        "context": (),
        "pins": (),
    }
