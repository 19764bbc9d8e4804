"""The training libraries, told to stay offline and quiet, and to share the processor."""

from __future__ import annotations

import logging
import os

WAIT_POLICY = "OMP_WAIT_POLICY"


def prepare_libraries() -> None:
    """Switch off their network, telemetry, progress bars and chatter; to be called before they are imported.

    Threads that wait for each other sleep instead of spinning: on a busy machine spinning made a step 14 times slower.
    """
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        os.environ[name] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _import_torch_patiently()
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def _import_torch_patiently() -> None:
    # OpenMP reads the variable once, as torch loads it; child processes are not to inherit it
    if WAIT_POLICY in os.environ:
        return
    os.environ[WAIT_POLICY] = "PASSIVE"
    import torch  # noqa: F401

    del os.environ[WAIT_POLICY]
