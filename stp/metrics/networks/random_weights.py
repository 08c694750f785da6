"""Random weights of a network, drawn with a seed, for tests and demonstrations.

Features of an untrained network depend on its input, but distances between them say nothing about
the quality of videos.
"""

import math

import numpy as np
import torch
from torch import nn


def draw(network: nn.Module, seed: int) -> nn.Module:
    """Draw the weights of all convolutions of a network.

    Weights are Gaussian with variance 2 / fan-in (He et al. 2015), so that outputs do not vanish;
    biases are 0, and normalisations are the identity. NumPy draws the tensors in the order of their
    names.

    Returns:
        the network, in evaluation mode and without gradients.
    """
    random = np.random.default_rng(seed)
    state = network.state_dict()
    for name in sorted(state):
        tensor = state[name]
        if tensor.ndim > 1:
            scale = math.sqrt(2 / tensor[0].numel())
            drawn = random.standard_normal(tuple(tensor.shape), np.float32) * np.float32(scale)
            state[name] = torch.from_numpy(drawn)
        elif name.endswith("bias"):
            state[name] = torch.zeros_like(tensor)
    network.load_state_dict(state)
    return network.eval().requires_grad_(False)
