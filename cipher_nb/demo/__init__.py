"""The demo: an operator's week in a sample repository, really lived, and one real night on the embedded model."""

from cipher_nb.demo.run import DemoOutcome, run_demo

__all__ = ["DemoOutcome", "run_demo"]
