"""Networks whose features metrics use; the user supplies their weights as files."""
