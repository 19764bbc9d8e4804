"""A llama.cpp server as an operator starts one by hand: nothing set that the package would set."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

KEY = "the-operators-key"

PROGRAM = """
import sys, xllamacpp
model, key, slot_folder, endpoint, *adapters = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port, params.api_keys = model, ["127.0.0.1"], 0, [key]
params.n_parallel, params.n_ctx, params.cpuparams.n_threads, params.cpuparams_batch.n_threads = 2, 4096, 1, 1
params.slot_save_path, params.endpoint_slots = slot_folder, endpoint == "slots"
loaded = []
for path in adapters:
    info = xllamacpp.CommonAdapterLoraInfo()
    info.path, info.scale = path, 0.0
    loaded.append(info)
params.lora_adapters = loaded
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def own_server(
    model: Path, *, log: Path, adapters: Sequence[Path] = (), slot_folder: Path | None = None, slots: bool = True
) -> Iterator[str]:
    """Run a server with the key KEY for the length of a `with` block, and hand out its address.

    Like `llama-server --lora-init-without-apply --lora …`; `--slot-save-path` where `slot_folder` is given, and
    `--no-slots` without `slots`.
    """
    if slot_folder:
        slot_folder.mkdir(parents=True, exist_ok=True)
    words = [str(model), KEY, f"{slot_folder}/" if slot_folder else "", "slots" if slots else "none"]
    command = [sys.executable, "-P", "-c", PROGRAM, *words, *map(str, adapters)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()
