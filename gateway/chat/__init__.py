"""One chat request: admitted, answered, relayed."""
