"""How much memory there is, and is free: on this machine and, where a container or a service has a limit, within it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def free_memory(*, cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Return the bytes that this process can still take without swapping.

    That is the least of what the machine has and what the limits of its control groups leave (Linux; cgroup-v2 and
    v1's memory controller). Cached files that are not in use count as free.
    """
    import psutil

    left = (most - taken + cached for most, taken, cached in _limits(cgroups, own))
    return max(0, min([psutil.virtual_memory().available, *left]))


def whole_memory(*, cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Return the bytes that this process could take if nothing else ran: the machine's, or the least of the limits."""
    import psutil

    return min([psutil.virtual_memory().total, *(most for most, _, _ in _limits(cgroups, own))])


def _limits(cgroups: Path, own: Path) -> Iterator[tuple[int, int, int]]:
    """Yield each limit with what is taken of it and how much of that is cached, from this process's own group up."""
    for folder in _groups(cgroups, own):
        for limit, used, cached in (_V2, _V1):
            try:
                most, taken = (folder / limit).read_text().strip(), int((folder / used).read_text())
                stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            except OSError:
                continue
            if most != "max":
                yield int(most), taken, int(stat.get(cached, 0))


def _groups(cgroups: Path, own: Path) -> Iterator[Path]:
    """Yield the folders of the groups that this process is in; a container may see some of them, or the last alone."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        top = cgroups if number == "0" else cgroups / "memory"
        inner = top / path.lstrip("/")
        yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(top))
