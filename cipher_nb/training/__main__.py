"""Train an adapter from a dataset, without a night: on one device, or on several through accelerate's launcher.

    python -m cipher_nb.training DATASET --checkpoint DIR --out DIR [--config cipher.toml] [--keep-every-s 60]
    accelerate launch --multi_gpu --num_processes 2 -m cipher_nb.training DATASET --checkpoint DIR --out DIR

DATASET is a night's `dataset.jsonl`, DIR of `--checkpoint` a transformers checkpoint, and the settings are those of
`[training]` in the config, else the defaults. Several processes share the micro-batches of every step and come to the
adapter that one would. The run is kept in `OUT.run` until it is done; called again after a kill, it goes on there. A
line per step goes to stderr, the result as JSON to stdout. Exit code 1 with one line for what could not be done.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import orjson

from cipher_nb.config import Config, load_config
from cipher_nb.errors import CipherError
from cipher_nb.training.data.dataset import read_dataset
from cipher_nb.training.qlora.loop import Step
from cipher_nb.training.qlora.processes import Processes, joined
from cipher_nb.training.qlora.train import KEEP_EVERY_S, Trained, train


def main() -> None:
    arguments = _arguments()
    kept = arguments.out.with_name(f"{arguments.out.name}.run")
    try:
        with joined() as processes:
            trained = _train(arguments, kept, processes)
    except CipherError as error:
        sys.exit(f"cipher_nb.training: {error}")
    if processes.leads:
        shutil.rmtree(kept, ignore_errors=True)
        sys.stdout.write(orjson.dumps(asdict(trained), default=str).decode() + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m cipher_nb.training", description="Train an adapter.")
    parser.add_argument("dataset", type=Path, metavar="DATASET")
    parser.add_argument("--checkpoint", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--keep-every-s", type=float, default=KEEP_EVERY_S, metavar="SECONDS")
    return parser.parse_args()


def _train(arguments: argparse.Namespace, kept: Path, processes: Processes) -> Trained:
    config = load_config(arguments.config) if arguments.config else Config()
    return train(
        read_dataset(arguments.dataset),
        checkpoint=arguments.checkpoint,
        settings=config.training,
        out=arguments.out,
        on_step=_say if processes.leads else None,
        keep_in=kept,
        keep_every_s=arguments.keep_every_s,
        processes=processes,
    )


def _say(step: Step) -> None:
    sys.stderr.write(f"step {step.number} of {step.total}: loss {step.loss:.4f}, {step.tokens_per_s:.0f} tokens/s\n")


if __name__ == "__main__":
    main()
