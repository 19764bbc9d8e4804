"""Secrets out of text: what is recognised (`KINDS`), and the masker that the bus puts before every line it writes."""

from cipher_nb.masking.masker import KINDS, Masker

__all__ = ["KINDS", "Masker"]
