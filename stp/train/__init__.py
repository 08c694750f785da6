"""Training: prepared data -> fitted model."""
