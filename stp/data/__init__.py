"""What prepare, train and predict share: array layout, clip index, windows, virtual clips."""
