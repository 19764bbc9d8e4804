"""The diff that the operator sees, in git's own form: `git apply` takes it."""

from __future__ import annotations

import base64
import difflib
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.sandbox.proposal.changes import Changes, FileState, read_entry

NO_NEWLINE = "\n\\ No newline at end of file\n"
LEAST_SIMILARITY = 0.5
NEVER = "0" * 40
SHOWN_LINES = 100


@dataclass(frozen=True)
class _Pair:
    """What a file was and is; the names differ after a rename."""

    old_path: str
    new_path: str
    before: FileState | None
    after: FileState | None


def unified_diff(root: Path, changes: Changes) -> str:
    """Return what turns the files in `root` into `changes`, sorted by path; "" when nothing differs.

    A file that is gone and one that came count as a rename where half of their lines are the same. A change of a file
    that is not UTF-8 text is in git's binary form.
    """
    before = {path: read_entry(root, path) for path in changes}
    pairs = [pair for path in changes for pair in _pairs(path, before[path], changes[path])]
    pairs = _with_renames([pair for pair in pairs if _differs(pair)])
    return "".join(_file_diff(pair) for pair in sorted(pairs, key=lambda pair: (pair.new_path, pair.after is not None)))


def _pairs(path: str, before: FileState | None, after: FileState | None) -> Iterator[_Pair]:
    """Yield one pair, or two where a link becomes a file: for git that is a deletion and a new file."""
    if before and after and before.is_link != after.is_link:
        yield _Pair(path, path, before, None)
        yield _Pair(path, path, None, after)
    else:
        yield _Pair(path, path, before, after)


def _differs(pair: _Pair) -> bool:
    if pair.before is None or pair.after is None:
        return pair.before is not pair.after
    return pair.before.data != pair.after.data or _git_mode(pair.before) != _git_mode(pair.after)


def _with_renames(pairs: list[_Pair]) -> list[_Pair]:
    """Join each file that came with the most similar one that went."""
    gone = {pair.old_path: pair.before for pair in pairs if pair.before and not pair.after}
    joined: list[_Pair] = []
    used: set[str] = set()
    for pair in pairs:
        source = _source(pair, {path: state for path, state in gone.items() if path not in used})
        used |= {source} if source else set()
        joined.append(_Pair(source, pair.new_path, gone[source], pair.after) if source else pair)
    return [pair for pair in joined if pair.after or pair.old_path not in used]


def _source(pair: _Pair, gone: Mapping[str, FileState]) -> str:
    if pair.before or not pair.after or pair.new_path in gone:
        return ""
    scores = {
        path: _similarity(state, pair.after) for path, state in gone.items() if state.is_link == pair.after.is_link
    }
    best = max(scores, key=lambda path: scores[path], default="")
    return best if best and scores[best] >= LEAST_SIMILARITY else ""


def _similarity(one: FileState, other: FileState) -> float:
    """Return the share of the larger file's bytes that stand in lines of both."""
    if one.data == other.data:
        return 1.0
    shared = Counter(one.data.splitlines(keepends=True)) & Counter(other.data.splitlines(keepends=True))
    same = sum(len(line) * count for line, count in shared.items())
    return same / max(len(one.data), len(other.data), 1)


def _file_diff(pair: _Pair) -> str:
    old_name, new_name = _quoted(f"a/{pair.old_path}"), _quoted(f"b/{pair.new_path}")
    head = "".join(f"{line}\n" for line in (f"diff --git {old_name} {new_name}", *_heads(pair)))
    old_data, new_data = pair.before.data if pair.before else b"", pair.after.data if pair.after else b""
    if old_data == new_data:
        return head
    old_name = _with_tab(old_name) if pair.before else "/dev/null"
    new_name = _with_tab(new_name) if pair.after else "/dev/null"
    if _is_binary(old_data) or _is_binary(new_data):
        return head + _binary(pair)
    body = difflib.unified_diff(_lines(old_data), _lines(new_data), old_name, new_name)
    return head + "".join(line if line.endswith("\n") else line + NO_NEWLINE for line in body)


def _heads(pair: _Pair) -> Iterator[str]:
    """Yield git's extended header."""
    if pair.before is None and pair.after is not None:
        yield f"new file mode {_git_mode(pair.after)}"
    elif pair.after is None and pair.before is not None:
        yield f"deleted file mode {_git_mode(pair.before)}"
    elif pair.before is not None and pair.after is not None:
        if _git_mode(pair.before) != _git_mode(pair.after):
            yield f"old mode {_git_mode(pair.before)}"
            yield f"new mode {_git_mode(pair.after)}"
        if pair.old_path != pair.new_path:
            yield f"similarity index {int(100 * _similarity(pair.before, pair.after))}%"
            yield f"rename from {_quoted(pair.old_path)}"
            yield f"rename to {_quoted(pair.new_path)}"


def _git_mode(state: FileState) -> str:
    return "120000" if state.is_link else "100755" if state.is_executable else "100644"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"' if '"' in name else name


def _with_tab(name: str) -> str:
    """End a name with a space in it by a tab, as git does, so that it is read to its end."""
    return f"{name}\t" if " " in name else name


def _is_binary(data: bytes) -> bool:
    try:
        return "\0" in data.decode()
    except UnicodeDecodeError:
        return True


def _binary(pair: _Pair) -> str:
    """Return the new content whole, as `git diff --binary` does; git checks the old one by its hash."""
    data = pair.after.data if pair.after else b""
    packed = zlib.compress(data)
    rows = (packed[at : at + 52] for at in range(0, len(packed), 52))
    lines = "".join(f"{_length(row)}{base64.b85encode(row, pad=True).decode()}\n" for row in rows)
    head = f"index {_blob(pair.before)}..{_blob(pair.after)}\nGIT binary patch\n"
    return f"{head}literal {len(data)}\n{lines}\n{_as_comment(pair)}"


def _as_comment(pair: _Pair) -> str:
    """Return, for the reader, the changed lines of text in an unknown encoding; git passes over them."""
    data = [state.data if state else b"" for state in (pair.before, pair.after)]
    if any(b"\0" in each for each in data):
        return ""
    old, new = ([f"{line}\n" for line in each.decode("latin-1").split("\n")] for each in data)
    changed = list(difflib.unified_diff(old, new, n=0))[2:]
    return "".join(f"# {line}" for line in changed[:SHOWN_LINES])


def _length(row: bytes) -> str:
    return chr(ord("A") + len(row) - 1) if len(row) <= 26 else chr(ord("a") + len(row) - 27)


def _blob(state: FileState | None) -> str:
    """Return git's name for the content."""
    if state is None:
        return NEVER
    return hashlib.sha1(b"blob %d\0%s" % (len(state.data), state.data), usedforsecurity=False).hexdigest()


def _lines(data: bytes) -> list[str]:
    """Split at newlines only: str.splitlines also splits at form feeds and the like, which a diff must not."""
    *whole, last = data.decode().split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
