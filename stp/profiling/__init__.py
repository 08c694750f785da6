"""Determine costs of models: parameters, multiply-adds, memory, and speed on this machine.

Used by `stp profile` and the tables of model sizes and speeds.
"""

DATASET = "moving_mnist"
"""The dataset of the paper's Table 19: 10 -> 10 frames of 64 x 64."""
