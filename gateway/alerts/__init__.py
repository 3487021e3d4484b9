"""Tells people by webhook, e-mail or ntfy what a budget says: names and sums, never content."""
