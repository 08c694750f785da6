"""Random numbers for models that draw forecasts, reproducible for each clip.

They depend only on the context frames of the clip, a seed, and the number of the forecast (its
ensemble member), not on other clips of the batch.
"""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor


def generator_of(frames: Tensor, seed: int, member: int = 0) -> torch.Generator:
    """Make the random number generator for the forecast of a clip, on the device of the frames.

    Its seed is a hash of the pixel values of the frames, the seed of the model and the member.

    Args:
        frames: context frames of the clip, of any shape. Clips with different values get different
            random numbers.
        seed: seed of the model.
        member: index of the ensemble member, from 0.
    """
    content = frames.detach().float().cpu().contiguous().numpy().tobytes()
    key = f"{seed}/{member}" if member else str(seed)
    digest = hashlib.blake2b(content, digest_size=7, key=key.encode()).digest()
    return torch.Generator(frames.device).manual_seed(int.from_bytes(digest, "big"))


def white_noise(shape: Sequence[int], generators: Sequence[torch.Generator]) -> Tensor:
    """Draw white noise, (len(generators), *shape), the n-th entry with the n-th generator."""
    return torch.stack([torch.randn(shape, generator=g, device=g.device) for g in generators])
