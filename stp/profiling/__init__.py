"""What a model costs: its size, its multiply-adds, its memory and its speed on this machine."""

DATASET = "moving_mnist"
"""Of the paper's Table 19: 10 -> 10 frames of 64 x 64."""
