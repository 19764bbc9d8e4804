# ruff: noqa: PTH123, PTH208 - pathlib is slow to import, and every check waits for this
"""First process of a check, run as a script with the standard library alone: `launch.py MB CPU_S FILE_MB N -- ARGV…`.

Runs ARGV under the limits and ends as that ended: its exit status, 128 + n for signal n, 127 when there is no such
program, 137 when its processes together were too many or too large. Which limit ended it stands on stderr; a limit of
0 is none.

Memory, processor time and the size of a file are limits of each process, which the kernel holds. The number of
processes, and the memory of all together, are watched from here, on Linux; in a namespace of its own the kernel holds
the number too (from 5.14, and for every user but root). When this ends, all that ARGV started has ended. It ends when
its standard input does: then whoever wanted to know is gone.
"""

import ctypes
import os
import resource
import select
import signal
import sys
from contextlib import suppress

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
TICK_S = 0.05
PAGE_KB = resource.getpagesize() // 1024
LINUX = sys.platform == "linux"
TOLD = {128 + signal.SIGXCPU: "it used {1} s of processor time", 128 + signal.SIGXFSZ: "it wrote a file over {2} MB"}
TOO_MANY = "it had over {3} processes"
TOO_LARGE = "its processes together used over {0} MB"
KILLED = 128 + signal.SIGKILL


def main(arguments: list[str]) -> int:
    split = arguments.index("--")
    limits = [int(word) for word in arguments[:split]]
    awake = _wake_when_a_child_ends()
    if LINUX:
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # what is held in may not trace what holds it
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    alone = os.getpid() == 1
    child = os.fork()
    if child == 0:
        _limit(*limits, alone=alone)
        _become(arguments[split + 1 :])
    code, words = _watch(child, awake, max_memory_mb=limits[0], max_processes=limits[3])
    if words:
        os.write(2, f"\nended: {words.format(*limits)}\n".encode())
    if not alone:  # else the kernel does it
        _end_all()
    return code


def _wake_when_a_child_ends() -> int:
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return awake


def _limit(memory_mb: int, cpu_s: int, file_mb: int, processes: int, *, alone: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb and LINUX:
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20,) * 2)
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    if file_mb:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_mb * 2**20,) * 2)
    if processes and alone and tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 14):
        resource.setrlimit(resource.RLIMIT_NPROC, (processes,) * 2)


def _become(argv: list[str]) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and that would be inherited
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is the point
    except OSError as error:
        os.write(2, f"program {argv[0]!r} cannot be started: {error.strerror}\n".encode())
    os._exit(127)


def _watch(child: int, awake: int, *, max_memory_mb: int, max_processes: int) -> tuple[int, str]:
    """Return the exit code of `child`, or KILLED and which limit was passed."""
    while True:
        ready, _, _ = select.select([0, awake], [], [], TICK_S)
        if awake in ready:
            os.read(awake, 4096)
        code = _reap(child)
        if code is not None:
            return code, TOLD.get(code, "")
        if 0 in ready:
            return KILLED, ""
        processes = _descendants()
        if max_processes and len(processes) > max_processes:
            return KILLED, TOO_MANY
        if max_memory_mb and _are_larger_than(max_memory_mb * 1024, processes):
            return KILLED, TOO_LARGE


def _reap(child: int) -> int | None:
    """Take leave of all that ended; return the exit code of `child` when it is among them."""
    code = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                code = os.waitstatus_to_exitcode(found[1])
    return code if code is None or code >= 0 else 128 - code


def _descendants() -> list[int]:
    found: list[int] = []
    ask = [os.getpid()]
    while ask:
        children = _children(ask.pop())
        found += children
        ask += children
    return found


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for thread in os.listdir(f"/proc/{pid}/task") for word in _read_children(pid, thread)]
    except OSError:
        return []


def _read_children(pid: int, thread: str) -> list[str]:
    with open(f"/proc/{pid}/task/{thread}/children") as file:
        return file.read().split()


def _are_larger_than(limit_kb: int, processes: list[int]) -> bool:
    """Count what processes share once; that is slow to ask, so only where it could be too much if counted for each."""
    if sum(_resident_kb(pid) for pid in processes) <= limit_kb:
        return False
    return sum(_proportional_kb(pid) for pid in processes) > limit_kb


def _resident_kb(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE_KB
    except OSError:
        return 0


def _proportional_kb(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
    except OSError:  # it hides that, or is gone
        return _resident_kb(pid)


def _end_all() -> None:
    """Kill what is left. What is orphaned by that comes to this process, so nothing gets away."""
    while left := _descendants():
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(-1, 0)


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # nothing to tidy up, and every check waits
