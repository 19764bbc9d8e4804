"""The gradients of a step: samples as trees that share prefixes, attention along them, losses, and their memory."""
