"""Looking after the store: how it stands, why work is repeated, cleaning up, sharing."""
