"""Looks at deployments themselves: whether they answer, what they serve, how busy they are."""
