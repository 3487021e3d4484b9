"""The page "Does it fit?"."""
