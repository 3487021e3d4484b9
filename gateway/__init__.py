"""The gateway: an OpenAI-compatible endpoint, routed by policy, accounted exactly."""
