"""Whether an adapter fits a base: asked before anything is loaded, for the server itself hardly looks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cipher_nb.errors import IncompatibleAdapterError, ModelError
from cipher_nb.files import sha256_of
from cipher_nb.training.metadata import Metadata, read_metadata

_SIDE = re.compile(r"(.+)\.lora_([ab])")
Shapes = Mapping[str, tuple[int, ...]]


def check_adapter(adapter: Path, base: Path) -> None:
    """Return when the GGUF file `adapter` fits the model `base`; else IncompatibleAdapterError names both numbers.

    Looks at architecture, intermediate and hidden size, layers, vocabulary, every tensor (paired, shaped for its base
    tensor, finite), and the base's hash where the adapter gives it. Raises ModelError for a broken base.
    """
    found, wanted = _read(adapter), read_metadata(base)
    where = f"{adapter.name} does not fit {base.name}"
    if found.architecture != wanted.architecture:
        raise IncompatibleAdapterError(
            f"{where}: architecture {found.architecture!r} against {wanted.architecture!r}; export it for this base"
        )
    if not found.shapes:
        raise IncompatibleAdapterError(f"{where}: it holds no tensors; train and export again")
    if mismatches := list(_sizes(found, wanted)):
        raise IncompatibleAdapterError(f"{where}: {', '.join(mismatches)}; train on this base")
    if problem := next(_tensor_problems(found.shapes, wanted.shapes), None):
        raise IncompatibleAdapterError(f"{where}: {problem}; train on this base and export again")
    _check_values(adapter, base, where)


def _read(adapter: Path) -> Metadata:
    try:
        return read_metadata(adapter)
    except ModelError as error:
        raise IncompatibleAdapterError(str(error)) from error
    except FileNotFoundError as error:
        raise IncompatibleAdapterError(f"{adapter} does not exist; export the adapter again") from error


def _sizes(found: Metadata, wanted: Metadata) -> Iterator[str]:
    """Sizes the adapter does not state are taken from its tensors."""
    pairs = _adapted(found.shapes)
    intermediate = found.intermediate_size or _first(pairs, "ffn_up", 0) or _first(pairs, "ffn_down", 1)
    hidden = found.hidden_size or _first(pairs, "attn_q", 1) or _first(pairs, "ffn_up", 1)
    blocks = [int(name.split(".")[1]) + 1 for name in pairs if re.match(r"blk\.\d+\.", name)]
    yield from _differs("intermediate size", intermediate, wanted.intermediate_size)
    yield from _differs("hidden size", hidden, wanted.hidden_size)
    yield from _differs("layer count", found.layers or max([wanted.layers, *blocks]), wanted.layers)
    yield from _differs("vocabulary", found.vocabulary or _first(pairs, "token_embd", 0), wanted.vocabulary)


def _differs(what: str, found: int, wanted: int) -> Iterator[str]:
    if found and found != wanted:
        yield f"{what} {found} against {wanted}"


def _adapted(shapes: Shapes) -> dict[str, tuple[int, int]]:
    """Return the shape (rows of B, columns of A) of every base tensor for which both sides are there."""
    return {
        name.removesuffix(".lora_a"): (shapes[other][0], shape[-1])
        for name, shape in shapes.items()
        if name.endswith(".lora_a") and (other := name.removesuffix("a") + "b") in shapes
    }


def _first(pairs: Mapping[str, tuple[int, int]], kind: str, axis: int) -> int:
    return next((shape[axis] for name, shape in pairs.items() if name.endswith(f"{kind}.weight")), 0)


def _tensor_problems(shapes: Shapes, base: Shapes) -> Iterator[str]:
    for name, shape in shapes.items():
        side = _SIDE.fullmatch(name)
        if side is None:
            yield f"{name} is no LoRA tensor"
            continue
        target, other = side[1], f"{side[1]}.lora_{'b' if side[2] == 'a' else 'a'}"
        if target not in base:
            yield f"{name} adapts a tensor that the base does not have"
        elif other not in shapes:
            yield f"{name} has no {other} beside it"
        elif side[2] == "a" and (shape[0], *base[target]) != (shapes[other][-1], shapes[other][0], shape[-1]):
            yield f"{target} is {shapes[other]} x {shape} in the adapter against {base[target]} in the base"


def _check_values(adapter: Path, base: Path, where: str) -> None:
    import numpy as np
    from gguf import GGUFReader, dequantize

    reader = GGUFReader(adapter)
    for tensor in reader.tensors:
        if not np.isfinite(dequantize(tensor.data, tensor.tensor_type)).all():
            raise IncompatibleAdapterError(f"{where}: {tensor.name} holds values that are not finite; train again")
    field = reader.fields.get("cipher_nb.base_sha256")
    if field is not None and field.contents() != (digest := sha256_of(base)):
        raise IncompatibleAdapterError(
            f"{where}: it was trained on the base {field.contents()[:12]} against {digest[:12]}; train on this base"
        )
