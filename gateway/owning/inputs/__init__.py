"""The parts of a scenario, each from what is stated, seen or known, with its source."""
