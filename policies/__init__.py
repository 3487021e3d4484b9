"""Labels, detectors and the policy engine: pure functions over values; no input or output beyond reading a pack."""
