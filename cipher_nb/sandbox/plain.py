"""A tool's output as plain text that is the same at every run and can pretend to be nothing else."""

from __future__ import annotations

import re
from pathlib import Path

MAX_LINE_CHARS = 1_000

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")
_CHECKS_OWN_FOLDER = re.compile(r"/[^\s'\"]{0,200}?/cipher-[a-z0-9_]{8}/(tmp|home)\b")
_TEMPORARY_NAME = re.compile(r"(?<=/)tmp[a-z0-9_]{8}\b")
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-fA-F]{6,}|\b0xc0[0-9a-f]{8}\b")
_DURATION = re.compile(
    r"(?<= in )\d+(?:\.\d+)?s(?: \(\d+:\d\d:\d\d\))?(?=\s*=*$)"  # pytest, unittest, cargo
    r"|\(\d+(?:\.\d+)?\s?m?s\)(?=\s*$)"  # go, jest, node
    r"|(?<=duration_ms)[: ]+[\d.]+"
    r"|(?<=^Time:)\s.*",
    re.MULTILINE,
)
_TURN_TAGS = (
    "s|bos|eos|pad|unk|sys|think|tools?|tool_calls?|tool_response|(?:start|end)_of_(?:turn|image)|0x[0-9a-f]{2}"
)
_TURN_WORDS = "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|IMG"
_TURN = re.compile(rf"[<＜﹤](?=[|｜]|/?(?:{_TURN_TAGS})[>＞﹥])|(?-i:\[(?=/?(?:{_TURN_WORDS})\]))", re.IGNORECASE)


def plain_output(output: str, *, copy: Path) -> str:
    """Return `output` without colours, durations and addresses, with paths in `copy` written relative to it.

    Of a line the first 1,000 characters are kept.
    """
    text = "\n".join(line[:MAX_LINE_CHARS] for line in _ANSI.sub("", output).replace("\r\n", "\n").split("\n"))
    for folder in sorted({f"{copy.absolute()}", f"{copy.resolve()}"}):
        text = text.replace(f"file://{folder}/", "").replace(f"{folder}/", "").replace(folder, ".")
    text = _TEMPORARY_NAME.sub("tmp…", _CHECKS_OWN_FOLDER.sub(r"/\1", text))
    return _DURATION.sub("…", _ADDRESS.sub("0x…", text))


def inert(text: str) -> str:
    """Return `text` with no control or invisible characters, and with no mark that a chat template reads as a turn."""
    visible = "".join(char for char in text if char.isprintable() or char in "\n\t")
    return _TURN.sub("(", visible)
