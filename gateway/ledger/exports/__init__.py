"""What leaves the ledger as a file: spreadsheets, FOCUS rows, statements, reconciliations."""
