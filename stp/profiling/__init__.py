"""What a model costs: parameters, multiply-adds, memory, and speed on this machine.

`stp profile` and the tables of model sizes and speeds are made of it.
"""

DATASET = "moving_mnist"
"""Of the paper's Table 19: 10 -> 10 frames of 64 x 64."""
