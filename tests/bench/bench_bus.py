"""The newest 500 approvals and 500 rejections of a long log, ours against peers, and appends, ours against peers.

    python tests/bench/bench_bus.py [--events 1000000] [--folder DIR]

Reading, each time from the file as it lies there: our bus, SQLite (WAL, an index on type and row; its rows become the
same typed events as ours), DuckDB's and pandas' JSON readers, and a plain parse of every line (these three return ids
only). All find the same 1,000. Appending, one event at a time, from 1 and from 8 processes: ours, SQLite (WAL, one
commit an event) and logging's FileHandler, with and without fsync where they have it. A line each: the time (or events
a second), the ratio to ours, and the bytes read.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.bus import Bus
from cipher_nb.bus.lines import from_line
from cipher_nb.config import BusSettings

WANTED = ("approval", "rejection")
EACH = 500
APPENDS = 2_000


def rows(count: int) -> Iterator[bytes]:
    """Yield `count` events of an operator's years: half gates, a fifth approvals, a tenth rejections."""
    chance = random.Random(7)
    kinds = ["gate"] * 5 + ["approval"] * 2 + ["rejection", "ship", "phase"]
    for number in range(count):
        kind = kinds[chance.randrange(10)]
        moment = f"20{10 + number * 16 // count:02}-{1 + number // 28 % 12:02}-{1 + number % 28:02}T12:00:00.000Z"
        row = {"type": kind, "ts": moment, "id": f"{number:022x}", "task": f"t{number // 5}"}
        if kind in WANTED:
            row |= {"tool": "edit", "pattern": f"Pattern number {chance.randrange(200)}", "summary": "changed x.py"}
        elif kind == "gate":
            row |= {"gate": "python -m pytest -q", "passed": True, "duration_ms": chance.randrange(9_999)}
        elif kind == "ship":
            row |= {"commit_sha": f"{number:040x}", "files_count": 2, "intent": "change x.py and its test"}
        else:
            row |= {"from": "base", "to": "a1", "engine": "llama.cpp"}
        yield orjson.dumps(row) + b"\n"


def write_log(path: Path, count: int) -> None:
    with path.open("wb") as file:
        file.writelines(rows(count))


def write_sqlite(log: Path, path: Path) -> None:
    store = sqlite3.connect(path)
    store.execute("pragma journal_mode=wal")
    store.execute("create table events (number integer primary key, type text, line blob)")
    with log.open("rb") as lines:
        store.executemany(
            "insert into events (type, line) values (?, ?)",
            ((line[9 : line.index(b'"', 9)].decode(), line) for line in lines),
        )
    store.execute("create index by_type on events (type, number)")
    store.commit()
    store.close()


def by_ours(log: Path, _: Path) -> list[str]:
    bus = Bus(log)
    return [event.id for kind in WANTED for event in bus.read_state(type=kind, limit=EACH)]


def by_sqlite(_: Path, store: Path) -> list[str]:
    query = "select line from events where type = ? order by number desc limit ?"
    connection = sqlite3.connect(store)
    found = [from_line(line) for kind in WANTED for (line,) in connection.execute(query, (kind, EACH))]
    connection.close()
    return [event.id for event in found if event]


def by_duckdb(log: Path, _: Path) -> list[str]:
    import duckdb

    numbered = "select row_number() over () as n, type, id from read_json(?, format='newline_delimited')"
    query = f"select id from ({numbered}) where type = ? order by n desc limit ?"
    return [name for kind in WANTED for (name,) in duckdb.execute(query, [str(log), kind, EACH]).fetchall()]


def by_pandas(log: Path, _: Path) -> list[str]:
    import pandas as pd

    kept: dict[str, list[Any]] = {kind: [] for kind in WANTED}
    for chunk in pd.read_json(log, lines=True, chunksize=200_000, dtype=False):
        for kind in WANTED:
            kept[kind] = [*kept[kind], *chunk.loc[chunk["type"] == kind, "id"]][-EACH:]
    return [name for kind in WANTED for name in reversed(kept[kind])]


def by_plain_parse(log: Path, _: Path) -> list[str]:
    kept: dict[str, list[Any]] = {kind: [] for kind in WANTED}
    with log.open("rb") as lines:
        for line in lines:
            row = json.loads(line)
            if row["type"] in kept:
                kept[row["type"]].append(row["id"])
    return [name for kind in WANTED for name in reversed(kept[kind][-EACH:])]


def bytes_read() -> int:
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])


def timed(read: Callable[[Path, Path], list[str]], log: Path, store: Path, rounds: int) -> tuple[float, int, list[str]]:
    """Return the best time of `rounds`, the bytes of the last one, and what was found."""
    best, found, cost = float("inf"), [], 0
    for _ in range(rounds):
        before, started = bytes_read(), time.perf_counter()
        found = read(log, store)
        best, cost = min(best, time.perf_counter() - started), bytes_read() - before
    return best, cost, found


def bench_reading(folder: Path, count: int) -> None:
    log, store = folder / f"{count}.jsonl", folder / f"{count}.db"
    if not log.exists():
        write_log(log, count)
    if not store.exists():
        write_sqlite(log, store)
    print(f"\n{count:,} events, {log.stat().st_size / 1e6:,.0f} MB: newest {EACH} approvals and {EACH} rejections")
    ours, cost, expected = timed(by_ours, log, store, 40)
    print(f"  {'ours':<14}{ours * 1e3:>12,.2f} ms          {cost / 1e6:>10,.2f} MB read")
    for name, read, rounds in (
        ("sqlite", by_sqlite, 40),
        ("duckdb", by_duckdb, 2),
        ("plain parse", by_plain_parse, 1),
        ("pandas", by_pandas, 1),
    ):
        seconds, cost, found = timed(read, log, store, rounds)
        assert found == expected, name
        print(f"  {name:<14}{seconds * 1e3:>12,.2f} ms {seconds / ours:>8,.1f}x {cost / 1e6:>10,.2f} MB read")


EVENT = {"tool": "edit", "pattern": "Uses pathlib instead of os.path", "summary": "rewrote loader.py", "task": "t1"}


def append_ours(path: Path, fsync: Any) -> Callable[[], None]:
    bus = Bus(path, settings=BusSettings(fsync=fsync))
    return lambda: None if bus.append("approval", **EVENT) else exit("not written")


def append_sqlite(path: Path, synchronous: str) -> Callable[[], None]:
    store = sqlite3.connect(path, isolation_level=None, timeout=60)
    store.execute("pragma journal_mode=wal")
    store.execute(f"pragma synchronous={synchronous}")
    store.execute("create table if not exists events (number integer primary key, type text, line blob)")
    store.execute("create index if not exists by_type on events (type, number)")
    line = orjson.dumps({"type": "approval", "ts": "2026-11-30T12:00:00.000Z", "id": "0" * 22, **EVENT})
    return lambda: store.execute("insert into events (type, line) values (?, ?)", ("approval", line)) and None


def append_logging(path: Path, _: str) -> Callable[[], None]:
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter('{"type":"approval","ts":"%(asctime)s","body":%(message)s}'))
    logger = logging.Logger("bench")
    logger.addHandler(handler)
    return lambda: logger.info("%s", json.dumps(EVENT))


APPENDERS = {
    "ours, interval": (append_ours, "interval"),
    "ours, never": (append_ours, "never"),
    "sqlite, normal": (append_sqlite, "normal"),
    "logging": (append_logging, ""),
    "ours, always": (append_ours, "always"),
    "sqlite, full": (append_sqlite, "full"),
}


def write_some(name: str, path: Path, barrier: Any, done: Any) -> None:
    make, mode = APPENDERS[name]
    append = make(path, mode)
    barrier.wait()
    started = time.perf_counter()
    for _ in range(APPENDS):
        append()
    done.put(time.perf_counter() - started)


def bench_appending(folder: Path, processes: int) -> None:
    print(f"\nappend, {processes} process{'es' * (processes > 1)}, {APPENDS:,} events each: events a second together")
    context = multiprocessing.get_context("spawn")
    rates: dict[str, float] = {}
    for name in APPENDERS:
        path = Path(tempfile.mkdtemp(dir=folder)) / "log"
        barrier, done = context.Barrier(processes), context.Queue()
        writers = [context.Process(target=write_some, args=(name, path, barrier, done)) for _ in range(processes)]
        for writer in writers:
            writer.start()
        rates[name] = processes * APPENDS / max(done.get() for _ in writers)
        for writer in writers:
            writer.join()
    for name, rate in rates.items():
        base = rates["ours, always" if name in ("ours, always", "sqlite, full") else "ours, interval"]
        print(f"  {name:<16}{rate:>10,.0f} /s   {base / rate:>6.2f}x the time of ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = options.folder or Path(temporary)
        for count in options.events:
            bench_reading(folder, count)
        for processes in (1, 8):
            bench_appending(Path(temporary), processes)


if __name__ == "__main__":
    main()
