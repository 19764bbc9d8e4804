"""First process of a check, run as a script with the standard library alone: `launch.py ISOLATION MB FOLDER… -- ARGV…`.

Under "userns" it starts with all rights in namespaces of its own, raises the loopback, makes the disk read-only but for
the given folders, and gives the rights up. It then runs ARGV under the memory limit and ends as that ended: its exit
status, 128 + n for signal n, 127 when there is no such program. Being the namespace's first process, it takes with it
whatever ARGV left running.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys

MS_BIND, MS_REC = 4096, 16384
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PR_SET_SECUREBITS, SECBIT_NOROOT_AND_LOCKED = 28, 3
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
IFREQ = "16sH14s"


def main(arguments: list[str]) -> int:
    isolation, max_memory_mb, *rest = arguments
    split = rest.index("--")
    folders, argv = rest[:split], rest[split + 1 :]
    if isolation == "userns":
        _raise_loopback()
        _protect_disk(folders)
        _give_up_rights()
    child = os.fork()
    if child == 0:
        _become(argv, max_memory_bytes=int(max_memory_mb) * 2**20)
    return _wait_for(child)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack(IFREQ, b"lo", 0, b"")
        _, flags, _ = struct.unpack(IFREQ, fcntl.ioctl(control, SIOCGIFFLAGS, request))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack(IFREQ, b"lo", flags | IFF_UP, b""))


def _protect_disk(folders: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    here = os.getcwd()  # noqa: PTH109 - pathlib is slow to import, and this starts with every check
    for folder in folders:
        _ask(libc.mount(folder.encode(), folder.encode(), None, MS_BIND | MS_REC, None), f"bind {folder}")
    _ask(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None), "mount /dev/shm")
    _set_read_only(libc, "/", on=True)
    for folder in [*folders, "/dev/shm"]:
        _set_read_only(libc, folder, on=False)
    os.chdir(here)


def _set_read_only(libc: ctypes.CDLL, folder: str, *, on: bool) -> None:
    change = struct.pack("QQQQ", MOUNT_ATTR_RDONLY * on, MOUNT_ATTR_RDONLY * (not on), 0, 0)
    status = libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, folder.encode(), AT_RECURSIVE, change, len(change))
    _ask(status, f"mount_setattr {folder}")


def _give_up_rights() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    _ask(libc.prctl(PR_SET_SECUREBITS, SECBIT_NOROOT_AND_LOCKED, 0, 0, 0), "set securebits")
    _ask(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear ambient capabilities")
    _ask(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs")


def _ask(status: int, what: str) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _become(argv: list[str], *, max_memory_bytes: int) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that would be inherited
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if max_memory_bytes and sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is the point
    except OSError as error:
        os.write(2, f"program {argv[0]!r} cannot be started: {error.strerror}\n".encode())
    os._exit(127)


def _wait_for(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
