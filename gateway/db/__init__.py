"""The ledger's tables and every query on them: the gateway's only SQL."""
