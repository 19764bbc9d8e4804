"""What a night and the bus look like to a person: tables, charts and the one-file page."""
