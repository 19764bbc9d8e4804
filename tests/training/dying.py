"""The training that tests kill: it ends itself, as by kill -9, as soon as it has told of a step.

usage: python -m tests.training.dying STEP [arguments of cipher_nb.training]
"""

from __future__ import annotations

import os
import signal
import sys

from cipher_nb.training import __main__ as training
from cipher_nb.training.qlora.loop import Step


def main() -> None:
    last, say = int(sys.argv.pop(1)), training._say

    def say_and_die(step: Step) -> None:
        say(step)
        if step.number == last:
            os.kill(os.getpid(), signal.SIGKILL)

    training._say = say_and_die
    training.main()


if __name__ == "__main__":
    main()
