"""Whether an adapter fits a base: asked before anything is loaded, for the server itself hardly looks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.errors import IncompatibleAdapterError, ModelError
from cipher_nb.training.base.metadata import Metadata, fingerprint_of, read_arrays, read_metadata

TYPES = ("F32", "F16", "BF16", "Q8_0")
"""What llama.cpp's own converter writes."""

_SIDE = re.compile(r"(.+)\.lora_([ab])")
_EMBEDDING = "token_embd.weight"


@dataclass(frozen=True)
class _Pair:
    """The tensors A and B of one base tensor: what they add to it has `rows` and `columns`."""

    rows: int
    columns: int
    ranks: tuple[int, int]


def check_adapter(adapter: Path, base: Path) -> None:
    """Return when the GGUF file `adapter` fits the model `base`; else IncompatibleAdapterError names both numbers.

    Looks at what the file says it is, intermediate and hidden size, layers, vocabulary, alpha, every tensor (in pairs,
    shaped for its base tensor, of a type that can be served, finite), and at the base's hash where the adapter gives
    it. Reads the adapter once, of the base the header; the base's hash once per process. Raises ModelError for a
    broken base.
    """
    wanted = read_metadata(base)
    try:
        found = read_metadata(adapter)
    except ModelError as error:
        raise IncompatibleAdapterError(str(error)) from error
    if problem := next(_problems(found, wanted), None):
        raise IncompatibleAdapterError(f"{adapter.name} does not fit {base.name}: {problem}")


def _problems(found: Metadata, wanted: Metadata) -> Iterator[str]:
    """What is wrong, the plainest first; what costs most is looked at last."""
    yield from _not_lora(found)
    if found.architecture != wanted.architecture:
        yield f"architecture {found.architecture!r} against {wanted.architecture!r}; export it for this base"
    if not found.tensors:
        yield "it holds no tensors; train and export again"
    if mismatches := list(_sizes(found, wanted)):
        yield f"{', '.join(mismatches)}; train on this base"
    if found.alpha is None:
        yield "adapter.lora.alpha is missing; export it again"
    elif not 0 < found.alpha < math.inf:
        yield f"adapter.lora.alpha is {found.alpha} and must be a number above 0; export it again"
    for problem in _tensor_problems(found, wanted):
        yield f"{problem}; train on this base and export again"
    yield from _bad_values(found)
    if found.base_sha256 and found.base_sha256 != (digest := fingerprint_of(wanted.path)):
        yield f"it was trained on the base {found.base_sha256[:12]} against {digest[:12]}; train on this base"


def _not_lora(found: Metadata) -> Iterator[str]:
    if found.kind != "adapter":
        yield f"general.type is {found.kind!r} instead of 'adapter'; name an adapter's file"
    if found.adapter_kind != "lora":
        yield f"adapter.type is {found.adapter_kind!r} instead of 'lora'; only LoRA can be served"


def _sizes(found: Metadata, wanted: Metadata) -> Iterator[str]:
    """Every size twice: as the adapter states it, and as its tensors have it."""
    pairs = _pairs(found)
    up, down, query = (_first(pairs, kind) for kind in ("ffn_up", "ffn_down", "attn_q"))
    up_rows = up.rows // 2 if wanted.architecture == "phi3" else up.rows  # gate and up in one
    blocks = (re.match(r"blk\.(\d{1,6})\.", name) for name in pairs)
    beyond = max([wanted.layers, *(int(block[1]) + 1 for block in blocks if block)])
    words = _first(pairs, "token_embd").rows or _first(pairs, "output").rows
    yield from _differs("intermediate size", wanted.intermediate_size, found.intermediate_size, up_rows or down.columns)
    yield from _differs("hidden size", wanted.hidden_size, found.hidden_size, up.columns or query.columns or down.rows)
    yield from _differs("layer count", wanted.layers, found.layers, beyond)
    yield from _differs("vocabulary", wanted.vocabulary, found.vocabulary, words)


def _differs(what: str, wanted: int, *found: int) -> Iterator[str]:
    """A size that is not given is 0."""
    if others := [size for size in found if size not in (0, wanted)]:
        yield f"{what} {others[0]} against {wanted}"


def _pairs(found: Metadata) -> dict[str, _Pair]:
    """Return every base tensor of which both sides are there, and are matrices."""
    pairs = {}
    for name, tensor in found.tensors.items():
        target = name.removesuffix(".lora_a")
        other = found.tensors.get(f"{target}.lora_b")
        if name.endswith(".lora_a") and other and len(tensor.shape) == len(other.shape) == 2:
            pairs[target] = _pair(target, tensor.shape, other.shape)
    return pairs


def _pair(target: str, a: tuple[int, ...], b: tuple[int, ...]) -> _Pair:
    if target == _EMBEDDING:  # looked up by row, so its A lies transposed
        return _Pair(rows=a[0], columns=b[0], ranks=(a[1], b[1]))
    return _Pair(rows=b[0], columns=a[1], ranks=(a[0], b[1]))


def _first(pairs: Mapping[str, _Pair], kind: str) -> _Pair:
    found = (pair for name, pair in pairs.items() if f".{name}".endswith(f".{kind}.weight"))
    return next(found, _Pair(0, 0, (0, 0)))


def _tensor_problems(found: Metadata, base: Metadata) -> Iterator[str]:
    pairs = _pairs(found)
    for name, tensor in found.tensors.items():
        side = _SIDE.fullmatch(name)
        if side is None:
            yield f"{name} is no LoRA tensor"
            continue
        target, other = side[1], f"{side[1]}.lora_{'b' if side[2] == 'a' else 'a'}"
        if target not in base.tensors:
            yield f"{name} adapts a tensor that the base does not have"
        elif other not in found.tensors:
            yield f"{name} has no {other} beside it"
        elif tensor.type not in TYPES:
            yield f"{name} is of type {tensor.type}, which cannot be served as an adapter ({', '.join(TYPES)} can)"
        elif 0 in tensor.shape:
            yield f"{name} is {tensor.shape}: rank 0"
        elif target not in pairs or not _fits(pairs[target], base.tensors[target].shape):
            a, b = (found.tensors[f"{target}.lora_{letter}"].shape for letter in "ab")
            yield f"{target} is {b} x {a} in the adapter against {base.tensors[target].shape} in the base"


def _fits(pair: _Pair, shape: tuple[int, ...]) -> bool:
    return (pair.rows, pair.columns) == shape and pair.ranks[0] == pair.ranks[1]


def _bad_values(found: Metadata) -> Iterator[str]:
    import numpy as np

    for name, values in read_arrays(found):
        if not np.isfinite(values).all():
            yield f"{name} holds values that are not finite; train again"
