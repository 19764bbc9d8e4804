"""What judges a change: which checks there are, and running one held in."""
