"""The child process that runs one notebook: `python -m cipher_nb.night.kernel`.

One line of JSON comes in on stdin (input, output, parameters, cwd), one goes out on stdout: `{"error": null}` or
`{"error": {"name", "text"}}`. When stdin closes (the night was killed) the kernel is killed too: neither papermill nor
the kernel would notice by themselves.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

from cipher_nb.night.jobs import papermill_path

OUTPUT_TIMEOUT_S = 60
"""How long a cell's last outputs may take to come when it is done: a busy machine is slow, and none may be lost."""


def main() -> None:
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_die_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: _kill_everything())
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answer.write(json.dumps({"error": _execute(request)}) + "\n")
    answer.flush()


def _execute(request: dict[str, Any]) -> dict[str, str] | None:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    try:
        papermill.execute_notebook(
            papermill_path(request["input"]),
            papermill_path(request["output"]),
            parameters=request["parameters"],
            cwd=request["cwd"],
            kernel_name="python3",
            progress_bar=False,
            iopub_timeout=OUTPUT_TIMEOUT_S,
        )
    except PapermillExecutionError as error:
        return {"name": error.ename, "text": error.evalue}
    except Exception as error:  # noqa: BLE001 - a dead kernel, a timeout, a full disk: all are the notebook's failure
        return {"name": type(error).__name__, "text": str(error)}
    return None


def _die_with_parent() -> None:
    sys.stdin.read()
    _kill_everything()


def _kill_everything() -> None:
    import psutil

    for child in psutil.Process().children(recursive=True):
        child.kill()
    os._exit(1)


if __name__ == "__main__":
    main()
