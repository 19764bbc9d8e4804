"""Making a folder hold a project's files and nothing else, by copying only what it does not hold already."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cipher_nb.sandbox.scratch import manifest
from cipher_nb.sandbox.scratch.links import harmless_target, link_text
from cipher_nb.sandbox.scratch.listing import Survey
from cipher_nb.sandbox.scratch.manifest import Row
from cipher_nb.sandbox.scratch.pouring import pour
from cipher_nb.sandbox.scratch.removal import remove

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@dataclass
class Repair:
    """Makes `copy` from what was `found` in `root`, where `known` tells what of it stands.

    A file is never written over, only removed and made anew: whatever it was linked with stays as it is. What vanished
    or may not be read is taken out of `found`. `rows` are what is known afterwards, of files older than `seen_from`.
    """

    root: str
    copy: str
    found: Survey
    known: dict[str, Row]
    seen_from: int
    rows: dict[str, Row] = field(default_factory=dict)

    def run(self) -> None:
        """Put folder after folder right, parents first: so no path leads through a link."""
        folders = _by_folder(self.found.files)
        for folder in sorted(folders):
            self._make_folder(folder)
            for name in sorted(folders[folder] - self._clear(folder, folders)):
                self._bring(name)

    def _make_folder(self, folder: str) -> None:
        path = Path(self.copy, folder)
        path.mkdir(exist_ok=True)
        try:
            mode = Path(self.root, folder).stat().st_mode
        except OSError:
            mode = 0
        path.chmod(mode & 0o777 | 0o700)

    def _clear(self, folder: str, folders: dict[str, set[str]]) -> set[str]:
        """Remove from the copy's folder what is not as it should be, and return the files that are."""
        with os.scandir(f"{self.copy}/{folder}") as entries:
            found = list(entries)
        right = set()
        for entry in found:
            name = f"{folder}{entry.name}"
            if name in folders[folder] and self._is_right(name, entry):
                right.add(name)
            elif f"{name}/" not in folders or not entry.is_dir(follow_symlinks=False):
                remove(Path(entry.path))
        return right

    def _is_right(self, name: str, entry: os.DirEntry[str]) -> bool:
        real = self.found.files[name]
        if stat.S_ISLNK(real.st_mode):
            return entry.is_symlink() and link_text(entry.path) == self._link_text(name)
        known = self.known.get(name)
        if known is None or known != manifest.row(real, entry.stat(follow_symlinks=False)):
            return False
        self.rows[name] = known
        return True

    def _bring(self, name: str) -> None:
        path = f"{self.copy}/{name}"
        is_link = stat.S_ISLNK(self.found.files[name].st_mode)
        if not (self._bring_link(name, path) if is_link else self._bring_file(name, path)):
            del self.found.files[name]

    def _bring_link(self, name: str, path: str) -> bool:
        text = self._link_text(name)
        if text:
            os.symlink(text, path)  # noqa: PTH211 - pathlib would tidy the text up
        return bool(text)

    def _link_text(self, name: str) -> str:
        try:
            return harmless_target(self.root, name)
        except OSError:
            return ""

    def _bring_file(self, name: str, path: str) -> bool:
        source = self._open(name)
        if source is None:
            return False
        try:
            now = os.fstat(source)
            if not stat.S_ISREG(now.st_mode):
                return False
            copied = pour(source, path, like=now)
            self._remember(name, manifest.row(os.fstat(source), copied), manifest.row(self.found.files[name], copied))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        finally:
            os.close(source)
        return True

    def _open(self, name: str) -> int | None:
        try:
            return os.open(f"{self.root}/{name}", OPEN_FLAGS)
        except PermissionError:
            self.found.left_out.append(name)
        except OSError as error:
            if error.errno not in VANISHED:
                raise
        return None

    def _remember(self, name: str, read: Row, found: Row) -> None:
        """Keep the row if the file was the same all the time; a name that JSON or a terminal cannot show gets none."""
        if read == found and manifest.changed_at(found) < self.seen_from and name.isprintable():
            self.rows[name] = found


def _by_folder(names: Iterable[str]) -> dict[str, set[str]]:
    """Return the files in each folder; folders end in a slash, the topmost is ""."""
    folders: dict[str, set[str]] = {"": set()}
    for name in names:
        folder = name[: name.rfind("/") + 1]
        above = folder
        while above not in folders:
            folders[above] = set()
            above = above[: above.rfind("/", 0, -1) + 1]
        folders[folder].add(name)
    return folders
