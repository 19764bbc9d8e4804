"""Read what failed, where, and what was expected from the output of test runners, linters and compilers."""

from __future__ import annotations

from cipher_nb.sandbox.failures.cargo import read_cargo
from cipher_nb.sandbox.failures.failure import Failure
from cipher_nb.sandbox.failures.go import read_go
from cipher_nb.sandbox.failures.jest import read_jest
from cipher_nb.sandbox.failures.located import read_located
from cipher_nb.sandbox.failures.node import read_node
from cipher_nb.sandbox.failures.pytests import read_pytest
from cipher_nb.sandbox.failures.tracebacks import read_traceback
from cipher_nb.sandbox.failures.unittests import read_unittest

__all__ = ["Failure", "find_failures"]

_READERS = (read_pytest, read_unittest, read_jest, read_node, read_go, read_cargo, read_located, read_traceback)


def find_failures(output: str) -> tuple[Failure, ...]:
    """Return the failures in a tool's plain output, in its order, or none where no known tool speaks in it.

    The tool is known by its words, not by the command: `make test` may run any of them.
    """
    return next((found for read in _READERS if (found := read(output))), ())
