"""The child process that hosts llama.cpp's server: `python -m cipher_nb.engine.host`.

One line of JSON comes in on stdin (a ServeSpec), one goes out on stdout: `{"url": …}` or `{"error": …}`.
With `watch_parent` the process ends when stdin closes, which the kernel does for a parent that was killed.
Without it, it lives until SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

HOST = "127.0.0.1"


def main() -> None:
    spec = json.loads(sys.stdin.readline())
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if spec["watch_parent"]:
        threading.Thread(target=_wait_for_parent, args=(stopped,), daemon=True).start()
    server = _start(spec)
    _say({"url": server.listening_address})
    stopped.wait()
    del server


def _start(spec: dict[str, Any]) -> Any:
    import xllamacpp

    try:
        return xllamacpp.Server(_params(xllamacpp, spec))
    except Exception as error:  # noqa: BLE001 - whatever the C++ side raises has to reach the parent as a line
        _say({"error": str(error)})
        sys.exit(1)


def _params(xllamacpp: Any, spec: dict[str, Any]) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = spec["model"]
    params.model_alias = {spec["alias"]}
    params.hostnames, params.port = [HOST], 0
    params.api_keys = [spec["api_key"]]
    params.n_parallel, params.n_ctx = spec["slots"], spec["context_tokens"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = spec["threads"]
    # The host-side prompt cache is not keyed by adapter: it would answer with another adapter's state.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    # Slots can only be erased where a save path is set.
    params.slot_save_path = spec["slot_folder"] + os.sep
    params.ui = False
    params.lora_adapters = [_adapter(xllamacpp, path) for path in spec["adapters"]]
    return params


def _adapter(xllamacpp: Any, path: str) -> Any:
    info = xllamacpp.CommonAdapterLoraInfo()
    info.path, info.scale = path, 0.0
    return info


def _wait_for_parent(stopped: threading.Event) -> None:
    sys.stdin.read()
    stopped.set()
    # The server may still be loading the model in a call that nothing interrupts.
    threading.Timer(10.0, lambda: os._exit(1)).start()


def _say(message: dict[str, str]) -> None:
    """Write the one line on stdout, then give stdout away so that nobody who reads it waits for ever."""
    print(json.dumps(message), flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
