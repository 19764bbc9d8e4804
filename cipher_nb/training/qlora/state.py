"""How far a run has come, on disk: enough to go on after a kill as if nothing had been.

In the folder lie one file of tensors, named by its step, and `manifest.json`, written last, with the file's SHA-256 and
what the run was made of. A kill at any moment leaves the last whole state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from cipher_nb.config import TrainingSettings, settings_as_json
from cipher_nb.errors import CipherError
from cipher_nb.files import read_json
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.manifest import LIBRARIES
from cipher_nb.training.qlora.shortages import write_whole

if TYPE_CHECKING:
    import torch

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class State:
    """A run after some steps: `losses` is one per step, `tensors` what `capture` and `random_state` returned."""

    losses: tuple[float, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)


def fingerprint(
    samples: tuple[Sample, ...], settings: TrainingSettings, checkpoint: Path, device: str
) -> dict[str, str]:
    """Return what a run is made of: a state goes on only where all of it is the same.

    The base counts as the same while its files have the same names, sizes and times.
    """
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(checkpoint.iterdir())]
    return {
        "data": _digest([(sample.tokens, sample.prompt_tokens) for sample in samples]),
        "settings": _digest(settings_as_json(settings)),
        "base": _digest(files),
        "libraries": ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "device": device,
    }


def save_state(folder: Path, state: State, made_of: Mapping[str, str]) -> None:
    """Write `state` to `folder`, in place of the one before; TrainingError when there is no room."""
    from safetensors.torch import save

    content = save(dict(state.tensors))
    name = f"step-{len(state.losses):06d}.safetensors"
    write_whole(folder / name, content)
    manifest = {
        "made_of": dict(made_of),
        "file": name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "losses": state.losses,
        "tokens": state.tokens,
        "seconds": state.seconds,
    }
    write_whole(folder / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    for old in folder.glob("*step-*"):
        if old.name != name:
            old.unlink(missing_ok=True)


def load_state(folder: Path, made_of: Mapping[str, str]) -> State | str:
    """Return the state in `folder`; or why it is of no use, in a few words; or "" where there is none."""
    from safetensors.torch import load

    try:
        manifest = read_json(folder / MANIFEST)
        changed = [name for name, value in made_of.items() if manifest["made_of"].get(name) != value]
        content = (folder / manifest["file"]).read_bytes()
    except (FileNotFoundError, CipherError, KeyError, TypeError):
        return "it is torn" if any(folder.glob("*")) else ""
    if changed:
        return f"it is of other {', '.join(changed)}"
    if hashlib.sha256(content).hexdigest() != manifest["sha256"]:
        return "it is torn"
    return State(tuple(manifest["losses"]), manifest["tokens"], manifest["seconds"], load(content))


def random_state() -> dict[str, torch.Tensor]:
    """Return the state of torch's random numbers, on the CPU and on the GPU in use."""
    import torch

    on_gpu = {"random.cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else {}
    return {"random": torch.get_rng_state(), **on_gpu}


def capture(weights: Mapping[str, torch.Tensor], optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the weights and the optimizer's averages, as `restore` takes them."""
    tensors: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        state = {"weight": weight, **optimizer.state[weight]}
        tensors |= {f"{key} {name}": value.detach().cpu().contiguous() for key, value in state.items()}
    return tensors


def restore(
    tensors: Mapping[str, torch.Tensor], weights: Mapping[str, torch.Tensor], optimizer: torch.optim.Optimizer
) -> None:
    """Put back what `random_state` and `capture` returned."""
    import torch

    torch.set_rng_state(tensors["random"])
    if "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])
    for label, tensor in tensors.items():
        key, _, name = label.partition(" ")
        if key == "weight":
            weights[name].data.copy_(tensor)
        elif name:  # AdamW counts its steps on the CPU
            optimizer.state[weights[name]][key] = tensor if key == "step" else tensor.to(weights[name].device)


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()
