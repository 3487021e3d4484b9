"""What a request may reveal: its label and where that came from."""
