"""Held numbers of every model: training steps and a forecast at tiny sizes.

Another layer, default of an option, term of a loss or draw gives other numbers. Weights and clips
are numpy's: torch's initial weights have tests of their own, and its dropout is that of a vendor's
library. The code itself computed the numbers, after other tests had compared it with papers and
releases. Where a model is meant to change, this writes its new numbers, whose difference is to be
read:

    PYTHONPATH=tests python tests/models/test_model_numbers.py convlstm  # no name: all models
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from held_numbers import Held, require_held, summary, write
from model_cases import CONTEXT, HORIZON, OPTIONS, make
from torch import Tensor

NUMBERS = Path(__file__).with_suffix(".yaml")
TOLERANCE = 1e-4
"""Relative to the norm; rounding of other orders of summation explains less than 1e-5."""
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "convlstm": [{}],
    "e3dlstm": [{}, {"attention": "released", "l1_weight": 0.5, "window": 3}],
    "mau": [{}, {"patch_size": 2, "tau": 3}],
    "phydnet": [{}, {"bounded": False, "scale": 2}],
    "predrnn": [{}],
    "predrnnpp": [{}],
    "predrnnv2": [{}],
    "simvpv1": [{}, {"n_t": 3, "n_s": 4}],
    "simvpv2": [{}, {"n_t": 3, "n_s": 4}],
    "tau": [{}, {"n_t": 3, "n_s": 4}],
    "earthformer": [
        {"drop": 0.0},
        {"drop": 0.0, "enc_depth": [2, 1], "dec_depth": [1, 2], "global_vectors": 2},
        {
            **{"drop": 0.0, "position": "t+hw", "decoder_frames": "context"},
            **{"stem_channels": [4, 8], "stem_scales": [[1, 2], [2, 1]]},
            **{"stem_convs": [1, 2], "head_convs": [2, 1]},
        },
    ],
    "mcvd": [
        {"dropout": 0.0},
        {
            **{"dropout": 0.0, "mask_context": 0.5, "data_range": [-0.5, 2.0], "blocks": 2},
            "sampler": {"steps": 4, "name": "ddim", "denoise": False, "clip": 0.8},
        },
    ],
    "small_convnet": [{}],
    "climax": [{}, {"predicts": "change", "leads": [1, 3]}],
    "lagged_ae": [{}, {"predicts": "change"}],
    "resnet": [{}],
    "unet": [{}],
    "fno": [{}, {"join": "concatenate"}, {"output": "scrambled"}],
    "vae": [{}, {"bounded": False, "kl_weight": 0.1}],
    "cdna": [{}, {"all_kernels": True, "kernel": 5}],
    "sv2p": [{}, {"annealing": "constant", "latent_channels": 2}, {"latent_channels": 0}],
    "svg": [
        {},
        {
            **{"prior": "learned", "last_skip": False, "seen": "mean", "posterior_depth": 2},
            "kl_weight": 0.1,
        },
        {
            **{"prior": "learned", "seen": "prior", "log_variance": False, "batch_norm": False},
            "kl_weight": 0.1,
        },
    ],
    "savp": [{}, {"smooth": False, "gan_vae_weight": 0.0}, {"gan_weight": 0, "gan_vae_weight": 0}],
    "persistence": [{}],
    "context_mean": [{}],
    "linear_extrapolation": [{}],
}
CASES = [f"{name} {i}" for name, variants in VARIANTS.items() for i in range(len(variants))]
SCHEDULED = ("convlstm", "e3dlstm", "mau", "predrnn", "predrnnpp", "predrnnv2")
STAGED = ("cdna", "sv2p", "savp")
STEPS = dict.fromkeys(SCHEDULED + STAGED, (6_000, 30_000, 75_000))
"""Iterations of losses: truths are shown often, less often and never, in three stages."""
EPOCH = 100
"""In which PhyDNet shows the truth with a probability of 0.7."""
SIDES = {"savp": (16, 18), "lagged_ae": (32, 40), "resnet": (32, 40)}
"""Others have (8, 12); norms of a few pixels would enlarge the rounding."""
GAIN = {"phydnet": 0.5}
"""Its filters of 7 x 7 derivatives, applied in each step, would enlarge the rounding."""


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> Tensor:
    return torch.from_numpy(rng.random(shape) * 2 - 1).float()


def known_weights(model: torch.nn.Module, gain: float) -> None:
    """Weights of usual sizes in all layers, also in those that start at zero."""
    rng = np.random.default_rng(0)
    for values in model.parameters():
        drawn = uniform(rng, tuple(values.shape))
        if values.ndim > 1:
            drawn *= gain * (3 / values[0].numel()) ** 0.5
        else:  # factors of a norm lie around 1, biases around 0
            drawn = 0.1 * drawn + float(values.mean() > 0.5)
        values.data = drawn


def numbers(case: str) -> Held:
    """What a model computes; the forecast comes from the batch norms that the losses have moved."""
    name, _, variant = case.partition(" ")
    shape = (2, *SIDES.get(name, (8, 12)))
    model, rng = make(name, shape, **VARIANTS[name][int(variant)]), np.random.default_rng(1)
    known_weights(model, GAIN.get(name, 1.0))
    clip = torch.from_numpy(rng.random((4, CONTEXT + HORIZON, *shape))).float()
    computed: Held = {}
    if parameters := list(model.parameters()):
        model.train().begin_epoch(EPOCH)
        losses = []
        for step in STEPS.get(name, (0,)):
            torch.manual_seed(0)
            losses.append(model.loss(clip, step))
        torch.stack(losses).sum().backward()
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        computed["losses"] = summary(torch.stack(losses).detach().numpy())
        computed["gradient"] = summary(torch.cat([g.flatten() for g in gradients]).numpy())
    with torch.no_grad():
        model.eval()
        member = [1] if model.is_sampled else []
        computed["forecast"] = summary(model(clip[:, :CONTEXT], HORIZON + 1, *member).numpy())
        computed["validation"] = summary(model.validation_errors(clip).mean().numpy())
    return computed


def test_every_model_has_numbers():
    assert list(VARIANTS) == list(OPTIONS)


@pytest.mark.parametrize("case", CASES)
def test_training_steps_and_a_forecast_give_the_held_numbers(case):
    require_held(case, numbers(case), NUMBERS, TOLERANCE)


if __name__ == "__main__":
    write(NUMBERS, CASES, numbers, sys.argv[1:])
