"""The truth about documents: what may answer, under which label, and what is still to be done."""
