"""Verified pairs in, a GGUF adapter out: data, base, gradients, qlora, export; and whether an adapter fits a base."""
