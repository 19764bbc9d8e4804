"""Paired statistics: what two sets of answers to the same samples say about their difference, and what they cannot."""
