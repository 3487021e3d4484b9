"""The deployments that can be called, as the pack declares them."""
