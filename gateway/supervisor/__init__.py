"""The house as processes: children started, kept alive, and stopped in order."""
