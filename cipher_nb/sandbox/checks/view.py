"""What of the disk a check sees, in bubblewrap's own words: the system, the tools and the copy, and nothing else.

Nothing is reachable that is not named here, so a secret or a socket in a place nobody thought of is out of reach too.
"""

from __future__ import annotations

import os
import site
import stat
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu")
KERNEL_SWITCHES = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
PYTHON_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
# Toolchains and fetched packages: what a build without a network needs, and no secrets.
TOOLS_OF_HOME = (".rustup", ".cargo/registry", ".cargo/git", "go/pkg/mod")
PROGRAMS_OF_HOME = (".local/share/pipx", ".local/share/uv")
PACKAGES_OF_WORKSPACE = "node_modules"
TEMPORARY = "/tmp"
HOME = f"{TEMPORARY}/home"
HIDDEN_BYTES = 65_536


def disk(copy: Path, *, launcher: Path, room_mb: int) -> list[str]:
    """Return the arguments, for bwrap and enter.py alike, that lay out the disk for a check of `copy`.

    Everything is read-only but `copy`, /dev/shm and /tmp; the latter two live in memory, at most `room_mb` each.
    """
    private = [place for place in (_home(), _workspace_of(copy)) if place]
    room = ["--size", str(room_mb * 2**20)] if room_mb else []
    words = [*_system(), "--proc", "/proc", *_read_only(map(Path, KERNEL_SWITCHES)), "--dev", "/dev"]
    words += [*room, "--tmpfs", "/dev/shm", *room, "--tmpfs", TEMPORARY]
    for place in (*_for_root_only(), *private):
        words += _hide(place) if _lies_in(place, map(Path, SYSTEM)) else []
    words += [*_read_only([*_tools(private), launcher]), "--bind", str(copy), str(copy), "--dir", HOME]
    for name, real in _tool_links():
        words += ["--symlink", str(real), f"{HOME}/{name}"]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(copy)]


def link_tools(home: Path) -> None:
    """Let the operator's toolchains be found from `home`, a folder that stands in for the operator's."""
    for name, real in _tool_links():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(real)


def _home() -> Path:
    try:
        return Path("~").expanduser().resolve()
    except RuntimeError:  # a user whom the system does not know
        return Path("/nonexistent")


def _workspace_of(copy: Path) -> Path | None:
    in_workspace = copy.parent.name == "sandboxes" and copy.parent.parent.name == ".aide"
    return copy.parents[2] if in_workspace else None


def _tool_links() -> Iterator[tuple[str, Path]]:
    return ((name, _home() / name) for name in TOOLS_OF_HOME if os.access(_home() / name, os.R_OK))


def _system() -> Iterator[str]:
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))


@cache
def _for_root_only() -> tuple[Path, ...]:
    """Return what in /etc others may not read: a check of an operator who is root is root as far as files go."""
    if os.geteuid() != 0:
        return ()
    found = []
    for folder, folders, files in os.walk("/etc"):
        closed = [name for name in (*folders, *files) if not _is_for_all(Path(folder, name))]
        folders[:] = [name for name in folders if name not in closed]
        found += [Path(folder, name) for name in closed]
    return tuple(found)


def _is_for_all(place: Path) -> bool:
    try:
        mode = place.lstat().st_mode
    except OSError:  # just removed
        return True
    return mode & stat.S_IROTH != 0 and (not stat.S_ISDIR(mode) or mode & stat.S_IXOTH != 0)


def _tools(private: list[Path]) -> Iterator[Path]:
    """Yield this Python with all its packages, what is on PATH, and packages and toolchains in `private` places."""
    prefixes = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1])
    home, *workspace = private
    editable = [folder for folder in _editable() if not _lies_in(folder, workspace)]
    for folder in (*prefixes, *editable, *_programs()):
        if not any(place.is_relative_to(folder) for place in private):
            yield folder
        elif folder in prefixes:
            yield from (folder / part for part in PYTHON_PARTS)
    yield from (home / name for name in (*TOOLS_OF_HOME, *PROGRAMS_OF_HOME))
    yield from (root / PACKAGES_OF_WORKSPACE for root in workspace)


def _editable() -> Iterator[Path]:
    """Yield the folders of projects that are installed in editable mode."""
    for folder in site.getsitepackages():
        for file in Path(folder).glob("*.pth"):
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            yield from (Path(line) for line in lines if line.startswith("/"))


def _programs() -> Iterator[Path]:
    for folder in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        if folder.is_absolute() and not _lies_in(folder, map(Path, SYSTEM)):
            yield folder
            if folder.name == "bin":
                yield folder.with_name("lib")  # npm is a link from bin to there


def _read_only(places: Iterable[Path]) -> Iterator[str]:
    for place in dict.fromkeys(places):
        if os.access(place, os.R_OK):
            yield from ("--ro-bind", os.path.realpath(place), str(place))


def _hide(place: Path) -> list[str]:
    if not os.access(place, os.F_OK):
        return []
    if place.is_dir():
        return ["--size", str(HIDDEN_BYTES), "--tmpfs", str(place)]
    return ["--ro-bind", os.devnull, str(place)]


def _lies_in(place: Path, folders: Iterable[Path]) -> bool:
    return any(place.is_relative_to(folder) for folder in folders)
