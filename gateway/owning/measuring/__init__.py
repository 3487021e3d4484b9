"""What an engine of one's own carries, found out by asking it."""
