"""How often the gate is right, found by simulating nights whose truth is known."""
