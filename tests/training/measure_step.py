"""Run one training step of random tokens in this process and print what it took as JSON.

    python -m tests.training.measure_step CHECKPOINT TOKENS [--checkpointing]

Prints the peak of the process's memory beyond what it held before the step, and what was estimated for that.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from cipher_nb.config import TrainingSettings
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.libraries import prepare_libraries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("tokens", type=int)
    parser.add_argument("--checkpointing", action="store_true")
    args = parser.parse_args()
    prepare_libraries()
    import psutil

    from cipher_nb.training.gradients.accumulate import accumulate_gradients
    from cipher_nb.training.gradients.memory import measure_cost, turn_on_checkpointing
    from cipher_nb.training.qlora.load import load_base, with_adapter

    causal_lm = with_adapter(load_base(args.checkpoint, quantised=False), TrainingSettings()).train().get_base_model()
    estimate = measure_cost(causal_lm).bytes(args.tokens, checkpointing=args.checkpointing)
    if args.checkpointing:
        turn_on_checkpointing(causal_lm)
    accumulate_gradients(causal_lm, [_sample(causal_lm, 64)], max_tokens=64)
    held = psutil.Process().memory_info().rss
    accumulate_gradients(causal_lm, [_sample(causal_lm, args.tokens)], max_tokens=64)
    print(json.dumps({"taken": peak_bytes() - held, "estimate": estimate}))


def peak_bytes() -> int:
    """Return the most memory this program held; `ru_maxrss` would count the process that started it as well."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _sample(causal_lm: object, tokens: int) -> Sample:
    rng = random.Random(0)
    return Sample(tuple(rng.randrange(256) for _ in range(tokens)), tokens // 2)


if __name__ == "__main__":
    main()
