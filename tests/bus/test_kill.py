"""Nothing that was acknowledged is lost, however often writers are killed, and no reader stumbles."""

import random
import shutil
import subprocess
import sys
import textwrap
import threading

import pytest

from cipher_nb.bus import Bus

WRITERS, KILLS = 8, 100

OURS = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from cipher_nb.bus import Bus
    from cipher_nb.config import BusSettings
    bus = Bus(Path(sys.argv[1]), settings=BusSettings(fsync="always"))
    with open(sys.argv[2], "a", buffering=1) as acknowledged:
        for number in range(1_000_000):
            name = f"{sys.argv[3]}-{number}"
            if bus.append("note", id=name, pad="x" * (number % 50) * 20):
                acknowledged.write(name + "\\n")
    """
)
LINE = r"{\"type\":\"note\",\"id\":\"sh-$n\"}"
SHELL = f'n=0; while :; do n=$((n+1)); echo "{LINE}" >> "$0" && echo "sh-$n" >> "$1"; done'
NODE = """
    const fs = require("fs");
    for (let n = 1; ; n++) {
        fs.appendFileSync(process.argv[2], JSON.stringify({ type: "note", id: `js-${n}`, ts: Date.now() }) + "\\n");
        fs.appendFileSync(process.argv[3], `js-${n}\\n`);
    }
"""


def start_foreign(path, folder):
    script = folder / "writer.js"
    script.write_text(NODE)
    second = ["node", script] if shutil.which("node") else ["/bin/sh", "-c", SHELL.replace("sh-", "js-")]
    commands = (["/bin/sh", "-c", SHELL, path, folder / "ack-sh"], [*second, path, folder / "ack-js"])
    return [subprocess.Popen(list(map(str, command))) for command in commands]


class Reader(threading.Thread):
    """Reads the log in every way, all the time."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.stop, self.failures, self.rounds = path, threading.Event(), [], 0

    def run(self):
        bus = Bus(self.path)
        cursor = bus.tail().cursor
        while not self.stop.wait(0.02):
            try:
                newest = bus.read_state(limit=200)
                assert len({event.id for event in newest}) == len(newest)
                added = bus.read_from(cursor)
                assert not added.afresh
                cursor = added.cursor
                self.rounds += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test looks for
                self.failures.append(error)


@pytest.mark.slow
def test_a_hundred_kills_under_eight_writers_and_two_foreign_ones_lose_nothing_acknowledged(tmp_path):
    path = tmp_path / "bus.jsonl"
    Bus(path).append("first")
    chance = random.Random(7)
    reader = Reader(path)
    reader.start()
    foreign = start_foreign(path, tmp_path)

    def writer(number):
        return subprocess.Popen([sys.executable, "-c", OURS, path, tmp_path / f"ack-{number}", f"w{number}"])

    running = [writer(number) for number in range(WRITERS)]
    for kill in range(KILLS):
        victim = chance.randrange(WRITERS)
        threading.Event().wait(chance.uniform(0.05, 0.25))
        running[victim].kill()
        running[victim].wait()
        running[victim] = writer(WRITERS + kill)
    for process in [*running, *foreign]:
        process.kill()
        process.wait()
    reader.stop.set()
    reader.join(60)

    acknowledged = {name for ack in tmp_path.glob("ack-*") for name in ack.read_text().splitlines(keepends=True)}
    whole = {name.rstrip("\n") for name in acknowledged if name.endswith("\n")}
    bus = Bus(path)
    found = [event.id for event in bus.read_state(type="note")]
    assert whole - set(found) == set()
    assert len(found) == len(set(found))
    assert bus.skipped == 0
    assert reader.failures == []
    assert reader.rounds > 50
    assert {"sh", "js"} <= {name.partition("-")[0] for name in whole}
    assert len(whole) > 1_000
