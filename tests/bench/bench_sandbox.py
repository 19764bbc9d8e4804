"""A scratch copy of a large repository, first and repeated, against git and cp; and what holding a check in costs.

    python tests/bench/bench_sandbox.py [--files 10000] [--mb 200] [--rounds 5] [--folder DIR]

Copies: of one repository, committed, everything in the page cache, in turn: `git worktree add --detach`, `cp -a` of all
but .git, and ours: made where there is none, made again for the next attempt (nothing changed; 10 files changed and a
check's leftovers), and made for the next task. Each time the copy is compared with the repository afterwards. Medians.
Checks: `true` and `python -c pass`, bare and under each kind of isolation that works here. Medians.
"""

from __future__ import annotations

import argparse
import filecmp
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks.isolation import KINDS, works
from cipher_nb.sandbox.checks.run import run_check
from cipher_nb.sandbox.scratch import list_files, make_copy

PER_FOLDER = 25
CHANGED = 10


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def write_repository(root: Path, *, files: int, mb: int) -> None:
    """Write `files` text files of very different sizes in folders of 25, `mb` megabytes in all, and commit them."""
    chance = random.Random(7)
    weights = [chance.paretovariate(1.2) for _ in range(files)]
    words = [f"{chance.randrange(16**8):08x}" for _ in range(4_096)]
    for number, weight in enumerate(weights):
        folder = root / f"part{number // (PER_FOLDER * 20)}" / f"module{number // PER_FOLDER}"
        folder.mkdir(parents=True, exist_ok=True)
        size = int(weight / sum(weights) * mb * 2**20)
        line = " ".join(chance.sample(words, 12)) + "\n"
        (folder / f"file{number}.txt").write_text((line * (size // len(line) + 1))[:size])
    (root / ".gitignore").write_text(".aide/\n__pycache__/\n")
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "bench")
    git(root, "config", "user.email", "bench@example.org")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=all")


def change_some(root: Path, round_number: int) -> None:
    for name in random.Random(round_number).sample(list_files(root).paths, CHANGED):
        with (root / name).open("a") as file:
            file.write(f"changed in round {round_number}\n")


def leave_a_mess(copy: Path) -> None:
    for folder in list(copy.glob("part*/module*"))[:20]:
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__/left.pyc").write_bytes(b"left")


def assert_equal(root: Path, copy: Path) -> None:
    names = list_files(root).paths
    found = [str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file() and path.name != ".git"]
    assert sorted(found) == sorted(names), "not the same files"
    assert filecmp.cmpfiles(root, copy, list(names), shallow=False)[1:] == ([], []), "not the same bytes"


def seconds(action: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def bench_copies(folder: Path, *, files: int, mb: int, rounds: int) -> None:
    root = folder / "repository"
    write_repository(root, files=files, mb=mb)
    sandboxes = root / ".aide/sandboxes"
    times: dict[str, list[float]] = {}

    def timed(name: str, copy: Path, action: Callable[[Path, Path], object] = make_copy) -> None:
        times.setdefault(name, []).append(seconds(action, root, copy))
        assert_equal(root, copy)

    for number in range(rounds):
        by_git, by_cp, copy = folder / "by-git", folder / "by-cp", sandboxes / f"t{number}"
        timed("git worktree add", by_git, copy_by_git)
        git(root, "worktree", "remove", "--force", str(by_git))
        timed("cp -a", by_cp, copy_by_cp)
        shutil.rmtree(by_cp)
        timed("ours, first", copy)
        timed("ours, again", copy)
        change_some(root, number)
        leave_a_mess(copy)
        timed(f"ours, again, {CHANGED} files changed, 20 left", copy)
        timed("ours, next task", sandboxes / f"t{number}-next")
        git(root, "commit", "--quiet", "--all", "--message=next")
        shutil.rmtree(sandboxes)
    print_copies(times, f"{files:,} files, {mb:,} MB")


def copy_by_git(root: Path, target: Path) -> None:
    git(root, "worktree", "add", "--detach", str(target))


def copy_by_cp(root: Path, target: Path) -> None:
    target.mkdir()
    tops = [str(path) for path in root.iterdir() if path.name not in (".git", ".aide")]
    subprocess.run(["cp", "-a", *tops, str(target)], check=True)


def print_copies(times: dict[str, list[float]], what: str) -> None:
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(f"\n{what}: median of {len(times['cp -a'])}, and its share of the peers' time")
    print(f"  {'':<44}{'':>8}    {'of git':>8} {'of cp':>8}")
    for name, median in medians.items():
        shares = f"{median / medians['git worktree add']:>8.3f} {median / medians['cp -a']:>8.3f}"
        print(f"  {name:<44}{median * 1e3:>8,.0f} ms {shares}")


def bench_checks(folder: Path, *, rounds: int) -> None:
    copy = folder / "copy"
    copy.mkdir()
    print(f"\none check: median of {rounds}, and what it adds to a bare subprocess")
    for command in ("true", f"{sys.executable} -c pass"):
        bare = statistics.median(seconds(run_bare, command) for _ in range(rounds))
        print(f"  {Path(command).name:<16}{'bare':<12}{bare * 1e3:>8.1f} ms")
        for kind in filter(works, KINDS):
            held = statistics.median(seconds(run_held, command, copy, kind) for _ in range(rounds))
            print(f"  {'':<16}{kind:<12}{held * 1e3:>8.1f} ms   +{(held - bare) * 1e3:.1f} ms")


def run_bare(command: str) -> None:
    subprocess.run(command.split(), check=True)


def run_held(command: str, copy: Path, kind: str) -> None:
    assert run_check(command, copy=copy, settings=SandboxSettings(), isolation=kind).passed, kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        bench_copies(Path(temporary), files=options.files, mb=options.mb, rounds=options.rounds)
        bench_checks(Path(temporary), rounds=20)


if __name__ == "__main__":
    main()
