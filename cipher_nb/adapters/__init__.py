"""What is served and why: the registry of adapters, the changelog, and the operator's decisions."""
