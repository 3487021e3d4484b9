"""What is to be known beside an answer: what was seen, what was paid, what is old."""
