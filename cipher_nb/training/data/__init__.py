"""What is trained on: pairs of verified work, rejected answers and replay, screened and frozen into a dataset."""
