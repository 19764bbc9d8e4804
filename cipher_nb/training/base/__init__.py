"""The base model: what its file says, and the checkpoint that equals it."""
