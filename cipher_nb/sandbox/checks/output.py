"""What a check printed, kept within a limit."""

from __future__ import annotations


class Output:
    """Keeps the first quarter and the last three quarters of `limit` bytes, whatever is fed; counts all in `fed`."""

    def __init__(self, limit: int) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._head_limit = limit // 4
        self._tail_limit = limit - self._head_limit
        self.fed = 0

    def feed(self, chunk: bytes) -> None:
        self.fed += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > self._tail_limit:
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        dropped = self.fed - len(self._head) - len(self._tail)
        gap = f"\n… {dropped} bytes left out …\n".encode() if dropped else b""
        return (self._head + gap + self._tail).decode(errors="replace")
