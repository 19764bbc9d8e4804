"""Verified pairs in, a GGUF adapter out: pairs, replay, dataset, base, batches, qlora, export, compat, manifest."""
