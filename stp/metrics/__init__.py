"""Metrics: pure functions on arrays; one small module per metric."""
