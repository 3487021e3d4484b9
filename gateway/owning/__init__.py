"""Whether owning machines is cheaper, and what they can hold: the pack, the ledger and the catalogs put together."""
