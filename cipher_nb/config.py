"""The settings of a workspace: frozen dataclasses, read from `.aide/cipher.toml`, where an unknown key is an error."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cipher_nb.errors import ConfigError, suggestion


@dataclass(frozen=True)
class ModelSettings:
    """Which model is served: a GGUF path, or the name of an embedded one."""

    name: str = "smollm2-135m"


@dataclass(frozen=True)
class EngineSettings:
    """How the model is served. `url` connects to a running llama.cpp server instead of starting one."""

    url: str = ""
    api_key_env: str = ""
    slots: int = 4
    context_tokens: int = 16_384
    threads: int = 0
    start_timeout_s: float = 120.0
    request_timeout_s: float = 300.0


@dataclass(frozen=True)
class BusSettings:
    """How the state bus is kept.

    `fsync`: "always" (a written event survives a power cut), "interval" (all but those of the last second do) or
    "never" (events survive the process, not a power cut). `rotate_mb` closes the file at that size, 0 never does.
    `secrets` are regular expressions of the operator's own for what must never be written.
    """

    fsync: Literal["never", "interval", "always"] = "interval"
    rotate_mb: int = 0
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScaffoldSettings:
    """The system text. A tier is a hard budget: micro is 24 lines and 640 bytes, the two others are set here.

    `pins` are learned lines that need no votes.
    """

    tier: str = "micro"
    small_lines: int = 48
    small_bytes: int = 2_048
    large_lines: int = 120
    large_bytes: int = 8_192
    doctrine: str = "You are a careful coding assistant. Answer briefly. Change only what the task needs."
    memory: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()


@dataclass(frozen=True)
class SandboxSettings:
    """How a proposed change is tried.

    `protected` are patterns of files that judge a change and so may not be part of it. Copies that are older than
    `keep_days`, or more than `keep_mb` in all, are removed, the oldest first.
    """

    checks: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    attempts: int = 3
    prompt_tokens: int = 2_048
    timeout_s: float = 120.0
    max_output_bytes: int = 64_000
    max_memory_mb: int = 2_048
    max_file_mb: int = 512
    max_processes: int = 512
    keep_days: int = 14
    keep_mb: int = 2_048


@dataclass(frozen=True)
class TrainingSettings:
    """QLoRA as the SOP sets it.

    `targets` are the linear layers that get an adapter, by their names in transformers (such as "q_proj"); empty means
    all but the output's. `micro_batch_tokens` is what one forward pass takes at the most, `max_memory_gb` what training
    may take at the most; 0 means what is free. `load_in_4bit` "auto" means NF4 for bases over a billion
    parameters. `replay_file` (JSONL) stands in for the base's own answers. `rejections` "kto" also learns from what the
    operator rejected. `convert_script` is a llama.cpp convert_lora_to_gguf.py that exports instead of our exporter.
    """

    rank: int = 8
    alpha: int = 16
    targets: tuple[str, ...] = ()
    lr: float = 5e-4
    epochs: int = 2
    batch_size: int = 8
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup_share: float = 0.1
    max_grad_norm: float = 1.0
    max_tokens: int = 1024
    micro_batch_tokens: int = 1024
    max_memory_gb: float = 0.0
    seed: int = 0
    load_in_4bit: Literal["auto", "yes", "no"] = "auto"
    replay_share: float = 0.3
    replay_file: str = ""
    rejections: Literal["ignore", "kto"] = "ignore"
    base: str = ""
    convert_script: str = ""


@dataclass(frozen=True)
class BatterySettings:
    """What the gate asks and for how long, and what a category that failed puts into the next dataset.

    `categories` empty means all of them. `per_category` is the most a category gets; the gate starts with fewer and
    stops where enough is known, or after `minutes`. A category that scores below `fail_below` gives up to
    `practice_pairs` pairs, all of them together up to `max_practice_pairs`. `max_drift` is in nats per token.
    """

    categories: tuple[str, ...] = ()
    per_category: int = 256
    minutes: float = 120.0
    seed: int = 7
    fail_below: float = 0.5
    practice_pairs: int = 96
    max_practice_pairs: int = 192
    max_drift: float = 0.5


@dataclass(frozen=True)
class NightSettings:
    """What a night works on and when it may run."""

    since_hours: float = 24.0
    when_idle_hours: float = 2.0
    min_new_pairs: int = 8


@dataclass(frozen=True)
class Config:
    """Everything in cipher.toml, one table each."""

    model: ModelSettings = field(default_factory=ModelSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    bus: BusSettings = field(default_factory=BusSettings)
    scaffold: ScaffoldSettings = field(default_factory=ScaffoldSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    battery: BatterySettings = field(default_factory=BatterySettings)
    night: NightSettings = field(default_factory=NightSettings)


TEMPLATE = """\
# Settings of this workspace. Every key is optional; what stands here commented out is the default.
# An unknown key or a wrong type is an error, so a typo never goes unnoticed.

[model]
# name = "smollm2-135m"          # an embedded model, or the path of a GGUF file

[engine]
# url = ""                       # connect to a running llama.cpp server instead of starting one
# api_key_env = ""               # environment variable that holds that server's key
# slots = 4                      # requests answered at once
# context_tokens = 16384         # shared by all slots
# threads = 0                    # 0: as many as there are cores
# start_timeout_s = 120          # how long a server may take until it answers
# request_timeout_s = 300        # how long one answer may take

[bus]
# fsync = "interval"             # "always": an event survives a power cut; "interval": all but the last second's do
# rotate_mb = 0                  # close the file at that size and begin a new one; 0: never
# secrets = []                   # regular expressions for what must never be written, beside those known

[scaffold]
# tier = "micro"                 # hard budget of the system text: 24 lines, 640 bytes; or "small", "large"
# small_lines = 48
# small_bytes = 2048
# large_lines = 120
# large_bytes = 8192
# doctrine = "You are a careful coding assistant. Answer briefly. Change only what the task needs."
# memory = []                    # lines the model should always know
# context = []                   # lines about this workspace
# pins = []                      # [learned] lines that need no votes

[sandbox]
# checks = []                    # commands a proposal must pass, e.g. ["python -m pytest -q"]
# protected = []                 # files a proposal may not touch, e.g. ["tests/**", ".github/**"]
# attempts = 3
# prompt_tokens = 2048           # how much of the files a question shows
# timeout_s = 120.0              # per check
# max_output_bytes = 64000
# max_memory_mb = 2048
# max_file_mb = 512              # the largest file a check may write
# max_processes = 512
# keep_days = 14                 # how long scratch copies are kept
# keep_mb = 2048                 # and how much of them

[training]
# rank = 8                       # of the adapter's two matrices
# alpha = 16                     # the adapter counts alpha / rank times
# targets = []                   # linear layers with an adapter, e.g. ["q_proj", "v_proj"]; empty: all but the output
# lr = 5e-4                      # the highest learning rate
# epochs = 2
# batch_size = 8                 # pairs per step
# schedule = "linear"            # after the warm-up: "linear" or "cosine" down to zero, or "constant"
# warmup_share = 0.1             # of the steps, while the rate rises
# max_grad_norm = 1.0            # longer gradients are clipped
# max_tokens = 1024              # a pair that is longer is left out
# micro_batch_tokens = 1024      # what one forward pass takes at the most
# max_memory_gb = 0.0            # what training may take at the most; 0: what is free
# seed = 0
# load_in_4bit = "auto"          # "auto": NF4 for bases over a billion parameters, else the served weights
# replay_share = 0.3             # of the final dataset
# replay_file = ""               # JSONL of messages that stands in for the base's own answers
# rejections = "ignore"          # "kto": also learn from what the operator rejected
# base = ""                      # a transformers checkpoint to train on, instead of the served GGUF dequantised
# convert_script = ""            # a llama.cpp convert_lora_to_gguf.py that exports instead of our exporter

[battery]
# categories = []                # which ones the gate asks; empty: all
# per_category = 256             # at the most; fewer where fewer decide
# minutes = 120.0                # what is not decided by then stays undecided
# seed = 7
# fail_below = 0.5               # a category under this score feeds its practice pairs to the next dataset
# practice_pairs = 96            # how many at the most, for the weakest category
# max_practice_pairs = 192       # of all categories together
# max_drift = 0.5                # how far the candidate's words may move away from the base's, nats per token

[night]
# since_hours = 24.0
# when_idle_hours = 2.0
# min_new_pairs = 8
"""


def load_config(path: Path) -> Config:
    """Return the settings in `path`; a missing file means all defaults.

    Raises ConfigError naming the key, the value and the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except FileNotFoundError:
        return Config()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    sections = get_type_hints(Config)
    _refuse_unknown(tables, sections, where="", path=path)
    config = Config(**{name: _section(name, sections[name], table, path) for name, table in tables.items()})
    problem = training_problem(config.training)
    if problem:
        raise ConfigError(f"{problem} ({path})")
    return config


def training_problem(settings: TrainingSettings) -> str:
    """Return what in `settings` nothing can be trained with, as one line, or "" where all is well."""
    for name in ("rank", "alpha", "epochs", "batch_size", "max_tokens", "micro_batch_tokens"):
        if getattr(settings, name) < 1:
            return f"[training] {name} = {getattr(settings, name)} must be at least 1"
    for name in ("lr", "max_grad_norm"):
        if not 0 < getattr(settings, name) < math.inf:
            default = getattr(TrainingSettings, name)
            return f"[training] {name} = {getattr(settings, name)} must be above 0; the default is {default}"
    if not 0 <= settings.warmup_share <= 1:
        return f"[training] warmup_share = {settings.warmup_share} must be from 0 to 1"
    if not 0 <= settings.replay_share < 1:
        return f"[training] replay_share = {settings.replay_share} must be at least 0 and below 1"
    return ""


def _section(name: str, kind: type, table: object, path: Path) -> Any:
    if not isinstance(table, dict):
        raise ConfigError(f"{name} = {table!r} must be a table, written [{name}] ({path})")
    hints = get_type_hints(kind)
    _refuse_unknown(table, hints, where=f"[{name}] ", path=path)
    return kind(**{key: _value(f"[{name}] {key}", hints[key], value, path) for key, value in table.items()})


def _refuse_unknown(found: dict[str, Any], known: dict[str, Any], *, where: str, path: Path) -> None:
    for key in found:
        if key not in known:
            raise ConfigError(f"{where}{key} is unknown; {suggestion(key, known)} ({path})")


def _value(where: str, kind: Any, value: object, path: Path) -> Any:
    origin = get_origin(kind)
    if origin is Literal:
        if value not in get_args(kind):
            raise ConfigError(f"{where} = {value!r} must be one of {', '.join(map(repr, get_args(kind)))} ({path})")
        return value
    if origin is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if origin in (tuple, Union, UnionType) or type(value) is not kind:
        wanted = "a list of texts" if origin is tuple else f"of type {kind.__name__}"
        raise ConfigError(f"{where} = {value!r} must be {wanted} ({path})")
    if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value < math.inf:
        raise ConfigError(f"{where} = {value!r} must be a number from 0 up ({path})")
    return value


def settings_as_json(settings: Any) -> dict[str, Any]:
    """Return a settings dataclass as plain JSON types, for manifests and fingerprints."""
    return dataclasses.asdict(settings)
