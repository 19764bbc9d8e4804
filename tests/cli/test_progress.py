"""Progress bars, and the time left that they tell."""

import re
import time

from cipher_nb.cli.progress import NightBars, counting
from cipher_nb.night.folder import NightFolder, Progress


def test_the_time_left_does_not_count_what_was_there_before(capsys):
    with counting("battery of base") as show:
        show(90, 100)
        time.sleep(0.3)
        show(91, 100)
    assert re.search(r"battery of base:  91%.* 91/100 \[\d\d:\d\d<(?!00:0[01])\d\d:\d\d,", capsys.readouterr().err)


def test_a_night_that_goes_on_shows_its_time_left_from_where_it_stands(tmp_path, capsys):
    folder, bars = NightFolder(tmp_path), NightBars()
    Progress(folder, "battery of candidate")(90, 100)
    bars(folder, "30_battery")
    time.sleep(0.3)
    Progress(folder, "battery of candidate")(91, 100)
    bars(folder, "30_battery")
    assert re.search(r"battery of candidate:  91%.* 91/100 \[\d\d:\d\d<(?!00:0[01])\d\d:\d\d,", capsys.readouterr().err)
    bars.close()
