"""byok: an operator's own keys: whose they are, where they go, how they are shown, and what a refusal means."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "byok"

PROVIDERS = ("anthropic", "google", "mistral", "cohere", "together", "deepseek")
NAMES = {
    "practice": ("elm", "oak", "fir", "ash", "yew", "bay", "box", "may"),
    "sealed": ("zinc", "iron", "lead", "gold", "onyx", "jade", "opal", "ruby"),
}
DOMAINS = {"practice": "test", "sealed": "example"}
SUBS = {"practice": ("eu", "us", "dev", "lab", "team"), "sealed": ("asia", "prod", "beta", "shop", "home")}
NUMBERS = {"practice": (10, 49), "sealed": (50, 99)}


def provider(rng: random.Random, side: Side) -> Iterator[Question]:
    """Half of the tables hold an entry that another one begins with, so that the first hit may be wrong."""
    for is_key, is_nested, asked in rounds(list(product((True, False), (True, False), range(3))), rng):
        names = rng.sample(NAMES[side], 3)
        roots = [f"{name}-" if is_key else f"{name}.{DOMAINS[side]}/" for name in names]
        if is_nested:
            roots[2] = f"{roots[0]}{rng.choice(SUBS[side])}{'-' if is_key else '/'}"
        table = dict(zip(roots, rng.sample(PROVIDERS, 3), strict=True))
        lines = [f"{root} {table[root]}" for root in rng.sample(roots, 3)]
        given = f"{roots[asked]}{'fake' if is_key else 'v'}{rng.randint(*NUMBERS[side])}"
        yield Question("\n".join([*lines, f"{given}?"]), table[roots[asked]], tuple(sorted(table.values())))


SERVICES = {
    "practice": (
        *("openai", "groq", "mistral", "ollama", "cerebras", "replicate", "jina", "writer", "meta", "nvidia"),
        *("azure-openai", "together-ai", "lm-studio", "deep-infra", "amazon-bedrock", "cloud-flare"),
    ),
    "sealed": (
        *("anthropic", "cohere", "deepseek", "perplexity", "google", "oracle", "intel", "alibaba", "baidu", "apple"),
        *("open-router", "hugging-face", "vertex-ai", "samba-nova", "llama-cpp", "git-hub"),
    ),
}
VARIABLES = {
    "practice": ("WORK_KEY", "HOME_KEY", "TEAM_KEY", "DEMO_TOKEN", "TEST_TOKEN", "LAB_SECRET", "MAIN_SECRET"),
    "sealed": ("CLIENT_KEY", "SCHOOL_KEY", "NIGHT_KEY", "SPARE_TOKEN", "GUEST_TOKEN", "STAGE_SECRET", "OLD_SECRET"),
}
VARIABLE_ASKS = {"practice": "For {}?", "sealed": "{} reads?"}


def variable(rng: random.Random, side: Side) -> Iterator[Question]:
    """A third of the providers have no line of their own, and the rule must make the name."""
    for is_told in rounds((True, True, False), rng):
        *told, untold = rng.sample(SERVICES[side], 3)
        asked = rng.choice(told) if is_told else untold
        table = dict(zip(told, rng.sample(VARIABLES[side], 2), strict=True))
        lines = [f"{name} = {value}" for name, value in table.items()]
        default = f"{asked.upper().replace('-', '_')}_API_KEY"
        yield Question("\n".join([*lines, VARIABLE_ASKS[side].format(asked)]), table.get(asked, default))


KEY_WORDS = {
    "practice": ("tulip", "daisy", "poppy", "lily", "aster", "rose", "violet", "clover"),
    "sealed": ("falcon", "heron", "robin", "eagle", "raven", "pigeon", "sparrow", "swan"),
}
FAKES = {"practice": ("fake", "demo"), "sealed": ("dummy", "sample")}
HIDDEN = {
    "first": "***-{1}-{2}",
    "middle": "{0}-***-{2}",
    "last": "{0}-{1}-***",
    "first and last": "***-{1}-***",
    "first and middle": "***-***-{2}",
    "middle and last": "{0}-***-***",
}
MASK_ASKS = {"practice": "{} of {}", "sealed": "{}, {}"}
HIDDEN_UNDER = 9


def mask(rng: random.Random, side: Side) -> Iterator[Question]:
    """A fourth of the questions name two parts; every twelfth key is too short to show anything of it."""
    single = ("first", "middle", "last")
    for which in rounds([*HIDDEN, *single, *single[:2], ""], rng):
        word, digits = rng.choice(KEY_WORDS[side]), rng.randint(*(10 * bound for bound in NUMBERS[side]))
        key = f"{word[:3]}-{digits % 10}-{digits % 7}" if not which else f"{word}-{rng.choice(FAKES[side])}-{digits}"
        told = which or rng.choice(single)
        yield Question(MASK_ASKS[side].format(told, key), masked(key, told))


def masked(key: str, hidden: str) -> str:
    """Return `key` with three stars for each of its three parts that is hidden; a short key shows nothing."""
    return "***" if len(key) < HIDDEN_UNDER else HIDDEN[hidden].format(*key.split("-"))


PATHS = {"openai": "/chat/completions", "anthropic": "/messages", "gemini": "/models/{}:generateContent"}
PORTS = {"practice": (8000, 8099), "sealed": (9000, 9099)}
MODELS = {
    "practice": ("finch-1", "finch-mini", "wren-2b", "wren-large", "lark-7b", "lark-tiny", "crow-9", "owl-4b"),
    "sealed": ("plum-8b", "plum-pro", "fig-12", "fig-small", "pear-6b", "lime-max", "kiwi-13", "date-1b"),
}
ENDPOINT_ASKS = {"practice": "{style} {base} {model}", "sealed": "{model} by {style} at {base}"}


def endpoint(rng: random.Random, side: Side) -> Iterator[Question]:
    for style in rounds(list(PATHS), rng):
        host = f"http://{rng.choice(NAMES[side])}.{DOMAINS[side]}"
        base = rng.choice((host, f"{host}:{rng.randint(*PORTS[side])}", f"{host}/{rng.choice(SUBS[side])}"))
        model = rng.choice(MODELS[side])
        shown = base + rng.choice(("", "", "/"))
        text = ENDPOINT_ASKS[side].format(style=style, base=shown, model=model)
        yield Question(text, base + PATHS[style].format(model))


STEPS = {
    "replace": ("401",),
    "pay": ("402",),
    "ask": ("403",),
    "fix": ("404",),
    "wait": ("429",),
    "switch": ("500", "502", "503"),
}
LOGS = {"practice": "{name} answered {code}", "sealed": "{name} gave {code}"}
ERROR_ASKS = {"practice": "What does {} need?", "sealed": "Remedy for {}:"}


def error(rng: random.Random, side: Side) -> Iterator[Question]:
    """Up to three lines; the last one of the name that is asked about decides."""
    for step in rounds(list(STEPS), rng):
        name, other = rng.sample(NAMES[side], 2)
        others = rng.choice(([], [other], [name], [other, name]))
        wrong = [rng.choice(codes) for each, codes in STEPS.items() if each != step]
        said = [*zip(others, rng.sample(wrong, len(others)), strict=True), (name, rng.choice(STEPS[step]))]
        if others == [other]:
            rng.shuffle(said)
        lines = [LOGS[side].format(name=each, code=code) for each, code in said]
        yield Question("\n".join([*lines, ERROR_ASKS[side].format(name)]), step, tuple(STEPS))


PROVIDER_EXAMPLES = (
    ("tin- google\nurn- cohere\ntin-hq- mistral\ntin-hq-fake7?", "mistral"),
    ("urn.invalid/ together\ntin.invalid/ google\nurn.invalid/a/ anthropic\ntin.invalid/v7?", "google"),
    ("urn- deepseek\nurn-b- google\ntin- cohere\nurn-fake8?", "deepseek"),
)
VARIABLE_EXAMPLES = (
    ("acme = RED_KEY\nsoft-co = BLUE_TOKEN\nsoft-co?", "BLUE_TOKEN"),
    ("ibm = BLUE_KEY\nsoft-co = PINK_SECRET\nacme?", "ACME_API_KEY"),
    ("soft-co = PINK_TOKEN\nbosch = RED_KEY\nsoft-co?", "PINK_TOKEN"),
    ("acme = RED_SECRET\nibm = BLUE_KEY\nsoft-co?", "SOFT_CO_API_KEY"),
)
MASK_EXAMPLES = (
    ("first and middle, melon-test-613", "***-***-613"),
    ("last, kiw-5-0", "***"),
    ("first, mango-test-707", "***-test-707"),
    ("middle, grape-test-112", "grape-***-112"),
    ("last, lemon-test-808", "lemon-test-***"),
    ("middle, peach-test-420", "peach-***-420"),
)
ENDPOINT_EXAMPLES = (
    ("openai, http://tin.invalid, ant-1", "http://tin.invalid/chat/completions"),
    ("anthropic, http://urn.invalid:70/, bee-2", "http://urn.invalid:70/messages"),
    ("gemini, http://tin.invalid/a, bee-2", "http://tin.invalid/a/models/bee-2:generateContent"),
    ("openai, http://urn.invalid/b/, fly-3", "http://urn.invalid/b/chat/completions"),
)
ERROR_EXAMPLES = (
    ("tin said 401\nFor tin?", "replace"),
    ("urn said 504\nFor urn?", "switch"),
    ("tin said 404\ntin said 402\nFor tin?", "pay"),
    ("tin said 429\nurn said 404\nFor tin?", "wait"),
)

FAMILIES = (
    Family(
        "provider",
        "Name the provider: that of the longest entry which the key or URL begins with.",
        "choice",
        provider,
        examples=PROVIDER_EXAMPLES,
    ),
    Family(
        "variable",
        "Name the variable of the key. A provider without a line: its name in capitals, _ for -, then _API_KEY.",
        "exact",
        variable,
        examples=VARIABLE_EXAMPLES,
        max_tokens=20,
    ),
    Family(
        "mask",
        f"Mask the named parts of the key with ***. A key under {HIDDEN_UNDER} characters becomes *** whole.",
        "exact",
        mask,
        examples=MASK_EXAMPLES,
    ),
    Family(
        "endpoint",
        "Give the chat URL. openai: /chat/completions. anthropic: /messages. gemini: /models/MODEL:generateContent.",
        "exact",
        endpoint,
        examples=ENDPOINT_EXAMPLES,
        max_tokens=32,
    ),
    Family(
        "error",
        "Go by its last code. 401: replace key. 402: pay. 403: ask admin. 404: fix model. 429: wait. 5xx: switch.",
        "choice",
        error,
        examples=ERROR_EXAMPLES,
    ),
)
