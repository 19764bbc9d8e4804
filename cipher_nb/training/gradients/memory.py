"""How much memory a training step takes, and what is done where that is too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.machine_memory import free_memory
from cipher_nb.training.gradients.accumulate import response_losses, sharing, why_plain
from cipher_nb.training.gradients.batches import Sample

if TYPE_CHECKING:
    import torch

GB = 10**9
RESERVE_BYTES = GB // 2
"""What is left to others where no limit is set."""
WORKING_LAYERS = 4
"""What is in work beside that, as a multiple of what one layer leaves behind."""
SLACK = 1.5
"""How much more the process holds than is in use: freed pieces are seldom of the size that is wanted next."""
_PROBE_TOKENS = 64
_LOGIT_BYTES = 4 * 4  # logits, their logarithms, their gradient and one more, in float32


@dataclass(frozen=True)
class Plan:
    """How a run stays within `bytes_allowed`; `bytes_needed` is its peak, with all that the process holds already."""

    micro_batch_tokens: int
    checkpointing: bool
    bytes_needed: int
    bytes_allowed: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """Bytes a forward and backward pass takes beside what was held before.

    A token leaves `layer` behind in each of `layers`, or `entry` where layers are checkpointed; its logits take
    `logits`, up to `most_logits` at a time. Gradients and the optimizer's moments take `weights`.
    """

    layer: int
    entry: int
    layers: int
    logits: int
    most_logits: int
    weights: int

    def bytes(self, tokens: int, *, checkpointing: bool) -> int:
        logits = min(tokens * self.logits, self.most_logits)
        return self.weights + logits + int(tokens * self.of_token(checkpointing=checkpointing))

    def tokens_in(self, size: int) -> int:
        """Return how many tokens fit into `size` bytes, with checkpointing."""
        free, of_token = size - self.weights, self.of_token(checkpointing=True)
        return int(max(free / (of_token + self.logits), (free - self.most_logits) / of_token))

    def of_token(self, *, checkpointing: bool) -> float:
        kept = self.layers * self.entry + self.layer if checkpointing else self.layers * self.layer
        return SLACK * (kept + WORKING_LAYERS * self.layer)


def plan_memory(causal_lm: Any, *, longest: int, settings: TrainingSettings) -> Plan:
    """Return how samples of up to `longest` tokens are trained on within `max_memory_gb`, or what is free.

    What a token leaves behind is measured in a short pass. Where a micro-batch does not fit, gradient checkpointing
    (the same gradients, a third more time) comes first, then smaller micro-batches. Raises TrainingError where the
    longest sample does not fit in either way.
    """
    cost = measure_cost(causal_lm)
    held, allowed = _held(causal_lm.device), _allowed(causal_lm.device, settings)
    wanted = max(longest, min(settings.micro_batch_tokens, longest * settings.batch_size))
    checkpointing = held + cost.bytes(wanted, checkpointing=False) > allowed
    needed = held + cost.bytes(longest, checkpointing=checkpointing)
    if needed > allowed:
        raise TrainingError(
            f"a sample of {longest} tokens takes {needed:,} bytes even with gradient checkpointing, and {allowed:,} "
            f"are allowed; lower [training] max_tokens = {settings.max_tokens}, {_way_out(settings)}"
        )
    tokens = min(wanted, max(longest, cost.tokens_in(allowed - held))) if checkpointing else wanted
    notes = [why_plain(causal_lm)] if why_plain(causal_lm) else []
    if checkpointing:
        notes.append(f"gradient checkpointing is on: {cost.bytes(wanted, checkpointing=False) + held:,} bytes without")
    if tokens < wanted:
        notes.append(f"micro-batches hold {tokens} tokens instead of {wanted}")
    needed = held + cost.bytes(tokens, checkpointing=checkpointing)
    return Plan(min(tokens, settings.micro_batch_tokens), checkpointing, needed, allowed, tuple(notes))


def turn_on_checkpointing(causal_lm: Any) -> None:
    """Let each layer keep only what enters it and compute the rest again for the backward pass (in training mode)."""
    turn_on = getattr(causal_lm, "activation_checkpointing_enable", None) or causal_lm.gradient_checkpointing_enable
    turn_on({"use_reentrant": False})


def measure_cost(causal_lm: Any) -> Cost:
    """Return what a pass takes, from what 64 tokens leave behind for the backward pass."""
    from cipher_nb.training.gradients.token_losses import CHUNK_LOGITS

    config = causal_lm.config
    weights = [weight for weight in causal_lm.parameters() if weight.requires_grad]
    trained = sum(weight.numel() * weight.element_size() for weight in weights)
    return Cost(
        layer=_kept_bytes(causal_lm) // _PROBE_TOKENS // config.num_hidden_layers,
        entry=config.hidden_size * causal_lm.dtype.itemsize,
        layers=config.num_hidden_layers,
        logits=_LOGIT_BYTES * config.vocab_size,
        most_logits=_LOGIT_BYTES * CHUNK_LOGITS,
        weights=3 * trained,
    )


def _kept_bytes(causal_lm: Any) -> int:
    import torch

    known = {weight.untyped_storage().data_ptr() for weight in [*causal_lm.parameters(), *causal_lm.buffers()]}
    kept: dict[int, int] = {}

    def count(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with sharing(causal_lm), torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        losses = response_losses(causal_lm, [Sample((0,) * _PROBE_TOKENS, 1)])
    del losses
    return sum(kept.values())


def _held(device: torch.device) -> int:
    import psutil
    import torch

    return torch.cuda.memory_allocated(device) if device.type == "cuda" else psutil.Process().memory_info().rss


def _allowed(device: torch.device, settings: TrainingSettings) -> int:
    import torch

    if settings.max_memory_gb:
        return int(settings.max_memory_gb * GB)
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = torch.cuda.mem_get_info(device)[0] + cached
    else:
        free = free_memory()
    return _held(device) + free - RESERVE_BYTES


def _way_out(settings: TrainingSettings) -> str:
    limit = f"raise max_memory_gb = {settings.max_memory_gb}" if settings.max_memory_gb else "free memory"
    return limit if settings.load_in_4bit == "yes" else f'set load_in_4bit = "yes", or {limit}'
