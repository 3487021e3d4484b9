"""The cost page: what was spent today, this month and where the month will end, by whom and on what."""
