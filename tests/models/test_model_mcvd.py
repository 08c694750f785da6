"""MCVD: multiply-adds, noise schedule, sampling, masks of the context, precision."""

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from parts import long_except
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from stp.models import mcvd
from stp.models.mcvd import Model, Sampler, signal_shares
from stp.models.mcvd_unet import Resample

SMALL = {
    "width": 8,
    "multipliers": [1, 2],
    "blocks": 1,
    "attention_widths": [4],
    "spade_width": 4,
    "dropout": 0.0,
    "sampler": {"steps": 5},
}
PUBLISHED = (0.02, 1e-4)
ROUNDING = {"atol": 1e-3, "rtol": 0}  # of batches of other sizes; other noise differs by 0.1


def small(context: int = 3, horizon: int = 2, side: int = 8, **options: object) -> Model:
    torch.manual_seed(0)
    return Model((1, side, side), context, horizon, **{**SMALL, **options}).eval()


def loud(model: Model) -> Model:
    """Give the layers that are almost silent at first weights like those of the others."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d) and layer.weight.abs().max() < 1e-4:
            nn.init.xavier_uniform_(layer.weight)
    return model


class Knows(nn.Module):
    """A network that believes in one value of all clean pixels, whatever it sees."""

    def __init__(self, model: Model, value: float) -> None:
        super().__init__()
        self.shares, self.value, self.indices = model.signal_shares, value, []
        self.contexts: list[torch.Tensor] = []

    def modulation_bytes(self, height: int, width: int) -> int:
        return height * width

    def modulations(self, context):
        self.contexts.append(context)
        return []

    def forward(self, noisy, index, modulations):
        self.indices.append(index[0].item())
        share = torch.tensor([self.shares[i] for i in index]).reshape(-1, *[1] * (noisy.dim() - 1))
        return (noisy - share.sqrt() * self.value) / (1 - share).sqrt()


def test_published_multiply_adds_are_two_thirds_of_the_context():
    with torch.device("meta"):
        network = Model((1, 64, 64), 10, 10).network
        frames, index = torch.empty(1, 10, 64, 64), torch.zeros(1, dtype=torch.long)
        with FlopCounterMode(display=False) as context:
            modulations = list(network.modulations(frames))
        with FlopCounterMode(display=False) as rest:
            network(frames, index, modulations)
    both = context.get_total_flops() + rest.get_total_flops()
    # PredBench, table 19: "29.15 G"
    assert both / 2e9 == pytest.approx(29.15, rel=0.002)
    assert context.get_total_flops() / both == pytest.approx(0.66, abs=0.005)


def test_signal_is_what_all_less_noisy_levels_leave():
    shares = signal_shares(1000, PUBLISHED)
    betas = [0.02 + (1e-4 - 0.02) * i / 999 for i in range(1000)]
    assert shares[-1] == pytest.approx(1 - 1e-4)
    assert shares[400] == pytest.approx(math.prod(1 - beta for beta in betas[400:]))
    assert 0 < shares[0] < 1e-4, "index 0 is almost pure noise"


def test_noised_frames_have_the_mean_and_variance_of_the_schedule():
    model = small(noise_levels=1000)
    torch.manual_seed(0)
    clean, noise = torch.full((3, 1, 200, 200), 0.5), torch.randn(3, 1, 200, 200)
    index = torch.tensor([0, 700, 999])
    noisy = model.add_noise(clean, index, noise)
    for level, frames in zip(index.tolist(), noisy, strict=True):
        share = signal_shares(1000, PUBLISHED)[level]
        # 40,000 draws: standard errors 0.005 and 0.0035 of the standard deviation
        spread = math.sqrt(1 - share)
        assert frames.mean().item() == pytest.approx(0.5 * math.sqrt(share), abs=0.025 * spread)
        assert frames.std().item() == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize(
    ("name", "denoise"),
    long_except([("ddpm", True)], [*product(("ddpm", "ddim"), (True, False))], part="learning"),
)
def test_sampler_recovers_a_gaussian_whose_score_is_known(name, denoise):
    shares = signal_shares(1000, PUBLISHED)
    mean = torch.tensor([0.3, -0.2])
    covariance = torch.tensor([[0.05, 0.03], [0.03, 0.04]])
    torch.manual_seed(0)

    def noise_in(x, index):
        share = shares[index]
        total = share * covariance + (1 - share) * torch.eye(2)
        return math.sqrt(1 - share) * (x - math.sqrt(share) * mean) @ total.inverse()

    errors = []
    for steps in (250, 1000):
        sampler = Sampler(name=name, clip=None, denoise=denoise, steps=steps)
        x = sampler.sample(noise_in, shares, lambda: torch.randn(40_000, 2))
        torch.testing.assert_close(x.mean(dim=0), mean, atol=0.006, rtol=0)
        errors.append((x.T.cov() - covariance).abs().max().item())
    # 40,000 draws: standard errors 0.0011 of the mean, 0.0004 of the covariance. Finite steps
    # narrow it, the fewer the more.
    assert errors[1] < 0.0025
    assert errors[1] < errors[0] < 0.0075


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, [*range(0, 1000, 4), 996]),  # PredBench, appendix D: 250 steps
        ({"steps": 100}, [*range(0, 1000, 10), 990]),  # released configurations
        ({"steps": 3, "denoise": False}, [0, 333, 666]),
        ({"steps": 5000, "denoise": False}, range(1000)),
    ],
)
def test_steps_are_spaced_evenly_and_the_last_noise_is_taken_out(options, chosen):
    model = small(sampler=options)
    model.network = Knows(model, 0.0)
    model(torch.rand(1, 3, 1, 8, 8), 2)
    assert model.network.indices == list(chosen)


def test_clip_bounds_what_a_step_believes():
    shares = signal_shares(1000, PUBLISHED)
    model = small()
    model.network = Knows(model, 3.0)
    for clip, expected in ((1.0, 1.0), (2.5, 2.5), (None, 3.0)):
        sampler = Sampler(clip=clip, denoise=False, steps=10)
        x = sampler.sample(
            lambda x, i: model.network(x, torch.tensor([i]), []), shares, lambda: torch.zeros(4)
        )
        torch.testing.assert_close(x, torch.full((4,), expected))


@pytest.mark.parametrize(("inside", "outside"), [(-1.0, -4.0), (0.0, 1.0), (1.0, 6.0)])
def test_the_network_works_between_minus_one_and_one(inside, outside):
    model = small(data_range=[-4, 6])
    model.network = Knows(model, inside)
    forecast = model(torch.full((2, 3, 1, 8, 8), outside), 2)
    torch.testing.assert_close(forecast, torch.full((2, 2, 1, 8, 8), outside))
    torch.testing.assert_close(model.network.contexts[0], torch.full((2, 3, 8, 8), inside))


def test_loss_is_half_the_squared_error_of_the_noise():
    model, clip = small(), torch.rand(3, 5, 1, 8, 8)
    model.network = Knows(model, 0.25)
    torch.manual_seed(1)
    loss = model.loss(clip, 0)
    torch.manual_seed(1)
    index, _, noise = torch.randint(1000, (3,)), torch.rand(3), torch.randn(3, 2, 8, 8)
    total = 0.0
    for i in range(3):
        share = model.signal_shares[index[i]]
        noisy = math.sqrt(share) * (2 * clip[i, 3:, 0] - 1) + math.sqrt(1 - share) * noise[i]
        actual = (noisy - math.sqrt(share) * 0.25) / math.sqrt(1 - share)
        total += (noise[i] - actual).square().sum().item()
    assert loss.item() == pytest.approx(total / 2 / 3, rel=1e-3)


def test_validation_gives_each_clip_the_same_noise_each_time():
    model, clips = loud(small(mask_context=0.5)), torch.rand(3, 5, 1, 8, 8)
    errors = model.validation_errors(clips)
    assert errors.shape == (3, 2, 8, 8)
    torch.testing.assert_close(model.validation_errors(clips[1:]), errors[1:], **ROUNDING)
    # a fresh network finds no noise: its errors are those of the noise itself, with variance 1
    errors = small().validation_errors(torch.rand(200, 5, 1, 8, 8))
    assert errors.mean().item() == pytest.approx(1, rel=0.03)
    model.network = Knows(model, 0.0)
    model.validation_errors(clips)
    assert (model.network.contexts[0] != 0).all(), "masks are for training"


def test_clips_are_masked_as_often_as_asked_for():
    model, clip = small(mask_context=0.25), torch.rand(2000, 5, 1, 8, 8)
    model.network = Knows(model, 0.0)
    model.loss(clip, 0)
    shown = (model.network.contexts[0] != 0).flatten(1)
    assert torch.equal(shown.any(dim=1), shown.all(dim=1)), "all of a context or nothing"
    assert shown.any(dim=1).float().mean().item() == pytest.approx(0.75, abs=0.03)


def test_resampling_is_the_binomial_filter_on_zero_filled_frames():
    torch.manual_seed(0)
    x, line = torch.randn(2, 3, 6, 4), torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8
    kernel = torch.outer(line, line).expand(3, 1, 4, 4)
    down = F.conv2d(F.pad(x, (1, 1, 1, 1)), kernel, groups=3)[..., ::2, ::2]
    torch.testing.assert_close(Resample("down")(x), down)
    filled = torch.zeros(2, 3, 12, 8)
    filled[..., ::2, ::2] = x
    up = F.conv2d(F.pad(filled, (2, 1, 2, 1)), 4 * kernel, groups=3)
    torch.testing.assert_close(Resample("up")(x), up)


def test_a_clip_is_drawn_the_same_in_any_batch():
    model, frames = loud(small()), torch.rand(3, 3, 1, 8, 8)
    every = model(frames, 3)
    torch.testing.assert_close(model(frames[1:2], 3), every[1:2], **ROUNDING)
    torch.testing.assert_close(model(frames.flip(0), 3).flip(0), every, **ROUNDING)
    assert torch.equal(model(frames, 3), every), "nothing is drawn from a common generator"


def test_clips_and_seeds_have_noise_of_their_own():
    frames = torch.rand(1, 3, 1, 8, 8).expand(2, -1, -1, -1, -1).clone()
    model = small(sampler={"steps": 1, "clip": None})
    one, same = model(frames, 2)
    assert torch.equal(one, same)
    frames[1, 0, 0, 0, 0] += 0.001
    assert (model(frames, 2)[1] - one).abs().mean() > 0.1
    other = small(sampler={"steps": 1, "clip": None, "seed": 1})
    assert (other(frames, 2)[0] - one).abs().mean() > 0.1


def test_modulations_are_made_once_for_each_block(monkeypatch):
    model, frames = loud(small()), torch.rand(3, 3, 1, 8, 8)
    calls = []
    original = model.network.modulations
    model.network.modulations = lambda context: calls.append(len(context)) or original(context)
    together = model(frames, 4)
    assert calls == [3, 3]
    monkeypatch.setattr(mcvd, "KEPT_BYTES", 2 * model.network.modulation_bytes(8, 8) + 1)
    torch.testing.assert_close(model(frames, 4), together, **ROUNDING)
    assert calls[2:] == [2, 2, 1, 1]
    sizes = [t.numel() for pairs in original(frames[:1, :, 0]) for pair in pairs for t in pair]
    assert model.network.modulation_bytes(8, 8) == 4 * sum(sizes)


@pytest.mark.parametrize(("context", "horizon"), [(3, 2), (2, 3)])
def test_more_lead_times_than_trained_go_block_by_block(context, horizon):
    model, frames = loud(small(context, horizon)), torch.rand(1, context, 1, 8, 8)
    seen = []
    original = model.network.modulations
    model.network.modulations = lambda frames: seen.append(frames) or original(frames)
    forecast = model(frames, horizon + 1)
    assert forecast.shape[1] == horizon + 1
    torch.testing.assert_close(model(frames, horizon), forecast[:, :horizon])
    known = torch.cat([frames, forecast[:, :horizon]], dim=1)[:, -context:, 0] * 2 - 1
    torch.testing.assert_close(seen[1], known)


def test_mixed_precision_is_finite_and_draws_the_same_noise():
    model, clip = small(), torch.rand(2, 5, 1, 8, 8)
    exact = model(clip[:, :3], 4)
    with torch.autocast("cpu", torch.bfloat16):
        mixed, loss = model(clip[:, :3], 4), model.train().loss(clip, 0)
    assert loss.dtype == torch.float32
    assert loss.isfinite()
    torch.testing.assert_close(mixed, exact, atol=0.02, rtol=0)
