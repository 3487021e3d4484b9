"""The page: ask a question, see where its answer came from, what left the house and what it cost."""
