"""Score: predictions and truth to metrics, per sample, per lead time and overall."""
