"""A training run: the base with an adapter on it, its steps, and how it is kept, taken up and shared out."""
