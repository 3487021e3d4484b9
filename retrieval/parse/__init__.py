"""Reads files into blocks of text with their place, in child processes that may not hurt the house."""
