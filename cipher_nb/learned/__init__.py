"""From votes to `[learned]` lines: what the operator approved often enough to tell the model."""

from cipher_nb.learned.explain import Explained, explain
from cipher_nb.learned.plain import plain_pattern
from cipher_nb.learned.rule import LearnedLine, learned
from cipher_nb.learned.view import LearnedView

__all__ = ["Explained", "LearnedLine", "LearnedView", "explain", "learned", "plain_pattern"]
