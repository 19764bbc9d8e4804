"""What is to be changed: read from a reply, and carried out on files in memory first."""
