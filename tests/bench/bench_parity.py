"""Whether an adapter is served as it was trained: transformers and peft against the server, on the same prompts.

    python tests/bench/bench_parity.py [--prompts 200] [--tokens 16] [--practice 48]

An adapter is trained on practice questions, exported, and asked on four servers: the model with its weights in float32,
as it is served (quantised), and both without the adapter; then once more merged into the float32 weights. Compared are
the log-probability of the likeliest first token and greedy answers. The model is the embedded one, or the GGUF that
CIPHER_NB_TEST_GGUF names.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gguf_copies import unquantised

from cipher_nb.battery.families import CATEGORIES, practice
from cipher_nb.config import EngineSettings, TrainingSettings
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.paths import user_cache
from cipher_nb.training.base.checkpoint import checkpoint_for
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.export import export_adapter
from cipher_nb.training.qlora.tokens import load_tokenizer
from cipher_nb.training.qlora.train import load_base, train


@dataclass(frozen=True)
class Answer:
    """What one side says to a prompt: the likeliest first tokens with their log-probabilities, and a greedy answer."""

    first: dict[int, float]
    tokens: tuple[int, ...]

    @property
    def top(self) -> int:
        return max(self.first, key=self.first.__getitem__)


def token_prompts(count: int, tokenizer: Any) -> list[list[int]]:
    """Return practice questions of all categories in turn, laid out by the chat template, as token ids."""
    each = [practice(name, -(-count // len(CATEGORIES)), seed=3) for name in CATEGORIES]
    samples = [sample for row in zip(*each, strict=True) for sample in row][:count]
    texts = [
        tokenizer.apply_chat_template(list(sample.messages), tokenize=False, add_generation_prompt=True)
        for sample in samples
    ]
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]


def from_transformers(model: Any, prompts: Sequence[Sequence[int]], *, tokens: int, end: int) -> list[Answer]:
    import torch

    answers = []
    with torch.inference_mode():
        for prompt in prompts:
            ids, cache, made, first = torch.tensor([list(prompt)]), None, list[int](), dict[int, float]()
            for _ in range(tokens):
                out = model(input_ids=ids, past_key_values=cache, use_cache=True)
                cache, scores = out.past_key_values, out.logits[0, -1].log_softmax(-1)
                first = first or {int(token): float(scores[token]) for token in scores.topk(20).indices}
                made.append(int(scores.argmax()))
                if made[-1] == end:
                    break
                ids = torch.tensor([[made[-1]]])
            answers.append(Answer(first, tuple(made)))
    return answers


def from_server(client: Client, prompts: Sequence[Sequence[int]], *, tokens: int) -> list[Answer]:
    """Greedy answers as token ids; the end of turn is not among them."""
    answers = []
    for prompt in prompts:
        client.erase_slots()
        body = {"prompt": list(prompt), "n_predict": tokens, "n_probs": 20, "temperature": 0.0, "return_tokens": True}
        told = client._post("/completion", body)
        likeliest = told["completion_probabilities"][0]["top_logprobs"]
        answers.append(Answer({row["id"]: row["logprob"] for row in likeliest}, tuple(told["tokens"])))
    return answers


def compare(what: str, ours: Sequence[Answer], theirs: Sequence[Answer], *, end: int) -> None:
    """Print how far two sides are apart: at the first token, and in whole greedy answers."""
    gaps = [abs(one.first[one.top] - other.first.get(one.top, -99.0)) for one, other in zip(ours, theirs, strict=True)]
    same_top = sum(one.top == other.top for one, other in zip(ours, theirs, strict=True))
    equal = sum(_text(one, end) == _text(other, end) for one, other in zip(ours, theirs, strict=True))
    gaps.sort()
    middle, near_all = statistics.median(gaps), gaps[-1 - len(gaps) // 20]
    print(f"{what}:")
    print(f"  top-1 log-probability apart: median {middle:.4f}, p95 {near_all:.4f}, max {gaps[-1]:.4f} nats")
    print(
        f"  same first token {same_top}/{len(gaps)}; same answer {equal}/{len(gaps)} ({equal / len(gaps):.1%})",
        flush=True,
    )


def _text(answer: Answer, end: int) -> tuple[int, ...]:
    return answer.tokens[:-1] if answer.tokens and answer.tokens[-1] == end else answer.tokens


def served(
    model: Path, adapter: tuple[Path, str] | None, prompts: Sequence[Sequence[int]], *, tokens: int, folder: Path
) -> dict[str, list[Answer]]:
    """Return the answers of a fresh server for `model`: "base", and with `adapter` (a file, its id) "adapter"."""
    spec = ServeSpec(
        model=model,
        alias="parity",
        adapters=(adapter[0],) if adapter else (),
        settings=EngineSettings(slots=1, context_tokens=4096),
        slot_folder=folder / "slots",
        log=folder / "engine.log",
    )
    with serving(spec) as client:
        answers = {"base": from_server(client, prompts, tokens=tokens)}
        if adapter:
            swap.serve(client, adapter[1])
            answers["adapter"] = from_server(client, prompts, tokens=tokens)
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--practice", type=int, default=48, help="how many practice pairs the adapter is trained on")
    options = parser.parse_args()
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    with tempfile.TemporaryDirectory() as folder:
        measure(gguf, options, Path(folder))


def measure(gguf: Path, options: argparse.Namespace, folder: Path) -> None:
    from peft import PeftModel

    checkpoint = checkpoint_for(gguf, cache=user_cache())
    pairs = [
        Pair(each.messages, each.reference, source="practice")
        for each in practice("command registry", options.practice, seed=7)
    ]
    train(pairs, checkpoint=checkpoint, settings=TrainingSettings(), out=folder / "adapter")
    exported = export_adapter(folder / "adapter", base_gguf=gguf, out_dir=folder)
    plain = unquantised(gguf, folder / "f32.gguf")
    merged = unquantised(gguf, folder / "merged.gguf", adapter=exported.path)

    tokenizer = load_tokenizer(checkpoint)
    end, tokens = tokenizer.eos_token_id, options.tokens
    prompts = token_prompts(options.prompts, tokenizer)
    adapter = (exported.path, exported.id)
    base = load_base(checkpoint, quantised=False).eval()
    reference = {"base": from_transformers(base, prompts, tokens=tokens, end=end)}
    tuned = PeftModel.from_pretrained(base, folder / "adapter").eval()
    reference["adapter"] = from_transformers(tuned, prompts, tokens=tokens, end=end)
    compare("the adapter against the base (what it changes)", reference["base"], reference["adapter"], end=end)
    for what, model in (("float32", plain), ("as served", gguf)):
        answers = served(model, adapter, prompts, tokens=tokens, folder=folder)
        for side in ("base", "adapter"):
            compare(f"transformers against the server, {what}, {side}", reference[side], answers[side], end=end)
        if model is plain:
            hot = answers["adapter"]
    once = served(merged, None, prompts, tokens=tokens, folder=folder)["base"]
    compare("hot against merged, both float32 on the server", hot, once, end=end)


if __name__ == "__main__":
    main()
