"""What all requests share: the workspace, threads that wait for its files and its engine, and HTTP to that engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeVar, get_args

import httpx

from cipher_nb.paths import Paths, find_workspace
from cipher_nb.workspace import Workspace

Result = TypeVar("Result")
Lane = Literal["read", "write", "task", "engine"]
THREADS_PER_LANE = 4


class Keeper:
    """Hands out the workspace at or above `start`, one object for all requests, and threads to use it in.

    The lanes do not wait for each other: writers held up by somebody's lock, tasks by a commit's hooks, or chats by a
    starting engine, leave reading alone.
    """

    def __init__(self, start: Path) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._opened: Workspace | None = None
        self._stamp: tuple[Path, int] | None = None
        self._lanes: dict[Lane, ThreadPoolExecutor] = {
            lane: ThreadPoolExecutor(THREADS_PER_LANE, f"cipher-{lane}") for lane in get_args(Lane)
        }
        # Connections are not kept: the engine may close one just as the next chat is sent on it.
        # trust_env=False: a proxy variable must never carry a prompt off this machine.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self.http = httpx.AsyncClient(limits=limits, trust_env=False)

    def workspace(self) -> Workspace:
        """Return the workspace, opened again when its cipher.toml has changed. Reads files: call it in a lane.

        Raises NotFoundError where there is none, ConfigError where its cipher.toml is broken.
        """
        with self._lock:
            stamp = self._found()
            if self._opened is None or stamp is None or stamp != self._stamp:
                self._opened = Workspace.open(self._start)
                self._stamp = stamp
            return self._opened

    async def run(self, lane: Lane, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, from one of the lane's four threads."""
        return await asyncio.get_running_loop().run_in_executor(self._lanes[lane], work)

    async def close(self) -> None:
        """Let the threads end, and the connections; work that has not begun is dropped."""
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)
        await self.http.aclose()

    def _found(self) -> tuple[Path, int] | None:
        root = find_workspace(self._start)
        if root is None:
            return None
        try:
            return root, Paths(root).config.stat().st_mtime_ns
        except FileNotFoundError:
            return root, 0
