"""The battery: questions with known answers, how they are asked and scored, and the gate that compares two runs."""
