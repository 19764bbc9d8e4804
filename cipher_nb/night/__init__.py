"""The night: its stages, and running them from notebooks, one process each."""
