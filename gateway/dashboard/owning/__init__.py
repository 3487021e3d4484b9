"""The page "Is owning cheaper?"."""
