# ruff: noqa: PTH103, PTH110, PTH112, PTH120, PTH211 - pathlib is slow to import, and every check waits for this
"""What bubblewrap does, for machines without it: run as a script by unshare, `enter.py VIEW… -- ARGV…`.

It starts with all rights in namespaces of its own, raises the loopback, lays out the disk as VIEW says (the words of
bwrap that view.py uses), gives its rights up, and becomes ARGV.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MNT_DETACH = 2, 4, 8, 4096, 16384, 2
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PR_SET_SECUREBITS, SECBIT_NOROOT_AND_LOCKED = 28, 3
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
IFREQ = "16sH14s"
NEW_ROOT = "/tmp"  # any folder will do; what it held is mounted by descriptors that are opened before
TWO_WORDS = ("--bind", "--ro-bind", "--symlink")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}

libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    split = arguments.index("--")
    _raise_loopback()
    _lay_out(list(_steps(arguments[:split])))
    _give_up_rights()
    os.execv(arguments[split + 1], arguments[split + 1 :])  # noqa: S606 - no shell is the point


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack(IFREQ, b"lo", 0, b"")
        _, flags, _ = struct.unpack(IFREQ, fcntl.ioctl(control, SIOCGIFFLAGS, request))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack(IFREQ, b"lo", flags | IFF_UP, b""))


def _steps(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    rest = iter(words)
    for word in rest:
        yield word, [next(rest) for _ in range(1 + (word in TWO_WORDS))]


def _lay_out(steps: list[tuple[str, list[str]]]) -> None:
    """Build the disk under NEW_ROOT and make it the root. Sources are opened first: NEW_ROOT covers some of them."""
    names = [rest[0] for word, rest in steps if word in ("--bind", "--ro-bind")]
    sources = {name: os.open(name, os.O_PATH) for name in (*names, *(f"/dev/{device}" for device in DEVICES))}
    _mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")
    size = ""
    for word, (first, *rest) in steps:
        if word == "--tmpfs":
            _mount("tmpfs", _folder(first), "tmpfs", MS_NOSUID | MS_NODEV, f"{size}mode=0755")
        elif word in ("--bind", "--ro-bind"):
            _bind(sources[first], rest[0], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (word == "--ro-bind"))
        elif word == "--symlink":
            _link(first, rest[0])
        elif word == "--dir":
            _folder(first)
        elif word == "--proc":
            _mount("proc", _folder(first), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")
        elif word == "--dev":
            _lay_out_devices(first, sources)
        elif word == "--remount-ro":
            _set_attributes(NEW_ROOT + first, MOUNT_ATTR_RDONLY)
        elif word == "--chdir":
            _move_to(first)
        size = f"size={first}," if word == "--size" else ""
    for source in sources.values():
        os.close(source)


def _lay_out_devices(folder: str, sources: dict[str, int]) -> None:
    _mount("tmpfs", _folder(folder), "tmpfs", MS_NOSUID, "size=64k,mode=0755")
    for device in DEVICES:
        _bind(sources[f"/dev/{device}"], f"{folder}/{device}", MOUNT_ATTR_NOSUID)
    _mount("devpts", _folder(f"{folder}/pts"), "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    _folder(f"{folder}/shm")
    for name, target in DEVICE_LINKS.items():
        _link(target, f"{folder}/{name}")


def _bind(source: int, place: str, attributes: int) -> None:
    """Mount an opened file or folder at `place`, with everything that is mounted below it."""
    target = NEW_ROOT + place
    if os.path.isdir(f"/proc/self/fd/{source}"):
        _folder(place)
    elif not os.path.exists(target):
        _folder(os.path.dirname(place))
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    _mount(f"/proc/self/fd/{source}", target, None, MS_BIND | MS_REC, None)
    _set_attributes(target, attributes, below=AT_RECURSIVE)


def _folder(place: str) -> str:
    os.makedirs(NEW_ROOT + place, exist_ok=True)
    return NEW_ROOT + place


def _link(target: str, place: str) -> None:
    _folder(os.path.dirname(place))
    os.symlink(target, NEW_ROOT + place)


def _move_to(folder: str) -> None:
    os.chdir(NEW_ROOT)
    _ask(libc.pivot_root(b".", b"."), "pivot_root")
    _ask(libc.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir(folder)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    texts = [text if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _ask(libc.mount(*texts[:3], flags, texts[3]), f"mount {source} at {target}")


def _set_attributes(place: str, attributes: int, *, below: int = 0) -> None:
    change = struct.pack("QQQQ", attributes, 0, 0, 0)
    status = libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(place), below, change, len(change))
    _ask(status, f"mount_setattr {place}")


def _give_up_rights() -> None:
    _ask(libc.prctl(PR_SET_SECUREBITS, SECBIT_NOROOT_AND_LOCKED, 0, 0, 0), "set securebits")
    _ask(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear ambient capabilities")
    _ask(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs")


def _ask(status: int, what: str) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main(sys.argv[1:])
