"""CDNA, SV2P, SVG and SAVP: equations, schedules, adversaries."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from stp.models import cdna, savp, sv2p, svg

WIDTHS = (4, 3, 4, 3, 5, 4, 3)
TOWER = {"widths": WIDTHS, "masks": 3, "kernel": 3}
SIZES = ((3, 16, 8), 2, 4)
CODES = {"widths": (3, 4), "code": 5, "latent": 3, "hidden": 4}
LATENTS = {"latent_widths": (3, 4, 5)}
ADVERSARIES = {"encoder_width": 3, "discriminator_width": 2}
PARTS = {
    "cdna": (cdna, TOWER),
    "sv2p": (sv2p, TOWER | LATENTS),
    "svg": (svg, CODES),
    "svg, learned": (svg, CODES | {"prior": "learned"}),
    "savp": (savp, TOWER | ADVERSARIES),
}


def make(name: str, *sizes, **options) -> nn.Module:
    torch.manual_seed(0)
    module, given = PARTS[name]
    return module.Model(*(sizes or SIZES), **{**given, **options})


def clip(seed: int = 1, batch: int = 3, frames: int = 6) -> Tensor:
    torch.manual_seed(seed)
    return torch.rand(batch, frames, *SIZES[0])


# Equations


def test_kernels_and_masks_sum_to_one():
    tower = make("cdna").tower
    frame = clip()[:, 0]
    _, masks, memory = tower.mixture(frame, None)
    assert masks.shape == (3, 4, 16, 8)
    torch.testing.assert_close(masks.sum(dim=1), torch.ones(3, 16, 8))
    kernels = tower.normal_kernels(memory[4][0] * 100)
    assert kernels.shape == (3, 3, 3, 3) and (kernels > 0).all()
    torch.testing.assert_close(kernels.sum(dim=(2, 3)), torch.ones(3, 3))
    # A kernel all of whose values are negative is flat, not undefined.
    nn.init.constant_(tower.kernels.bias, -1e9)
    torch.testing.assert_close(tower.normal_kernels(memory[4][0]), torch.full((3, 3, 3, 3), 1 / 9))


def loop_moved(frame: Tensor, kernels: Tensor) -> Tensor:
    """Equation 3 of Finn et al. 2016, pixel by pixel."""
    batch, channels, height, width = frame.shape
    n, size = kernels.shape[1:3]
    half = size // 2
    out = []
    for b in range(batch):
        for k in range(n):
            for c in range(channels):
                for y in range(height):
                    for x in range(width):
                        total = frame.new_zeros(())
                        for i in range(size):
                            for j in range(size):
                                row, column = y + i - half, x + j - half
                                if 0 <= row < height and 0 <= column < width:
                                    total = total + kernels[b, k, i, j] * frame[b, c, row, column]
                        out.append(total)
    return torch.stack(out).reshape(batch, n, channels, height, width)


def test_moving_by_kernels_and_its_gradients_are_those_of_a_loop():
    torch.manual_seed(0)
    frame = torch.rand(2, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    kernels = torch.rand(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(2, 2, 2, 3, 4, dtype=torch.float64)
    actual, expected = cdna.apply_kernels(frame, kernels), loop_moved(frame, kernels)
    torch.testing.assert_close(actual, expected)
    gradients = [
        torch.autograd.grad((out * weights).sum(), (frame, kernels)) for out in (actual, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def same(x: Tensor, layer: nn.Conv2d) -> Tensor:
    """TensorFlow's SAME convolution from its definition: where the windows begin."""
    size, stride = layer.kernel_size[0], layer.stride[0]
    total = max(size - stride, 0)
    height, width = x.shape[2] // stride, x.shape[3] // stride
    out = []
    for y in range(height):
        for z in range(width):
            total_sum = layer.bias.expand(len(x), -1)
            for i in range(size):
                for j in range(size):
                    row, column = y * stride + i - total // 2, z * stride + j - total // 2
                    if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                        total_sum = total_sum + x[:, :, row, column] @ layer.weight[:, :, i, j].T
            out.append(total_sum)
    return torch.stack(out, dim=2).reshape(len(x), -1, height, width)


def norm(x: Tensor, layer: nn.GroupNorm) -> Tensor:
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    deviation = x.var(dim=(1, 2, 3), unbiased=False, keepdim=True).sqrt()
    return (x - mean) / deviation * layer.weight[:, None, None] + layer.bias[:, None, None]


def loop_tower(tower: cdna.Tower, frames: list[Tensor], latent: Tensor | None) -> list[Tensor]:
    """The next frame of each, layer by layer as Tensor2Tensor's tower has them."""
    memory = tower.empty(frames[0])
    outputs = []
    for frame in frames:
        new = []

        def lstm(x, n, memory=memory, new=new):
            h, c = memory[n]
            gates = same(torch.cat([x, h], 1), tower.lstms[n].gates).split(tower.widths[n], 1)
            i, j, f, o = gates
            c = (f + 1).sigmoid() * c + i.sigmoid() * j.tanh()
            new.append((o.sigmoid() * c.tanh(), c))
            return new[-1][0]

        def up(x, n):
            layer = tower.up[n].layer
            full = F.conv_transpose2d(x, layer.weight, layer.bias, stride=2)
            return full[:, :, 1:, 1:].relu()

        enc0 = norm(same(frame, tower.enter).relu(), tower.norms[0])
        hidden1 = norm(lstm(enc0, 0), tower.norms[1])
        hidden2 = norm(lstm(hidden1, 1), tower.norms[2])
        enc1 = same(hidden2, tower.halve[0]).relu()
        hidden3 = norm(lstm(enc1, 2), tower.norms[3])
        hidden4 = norm(lstm(hidden3, 3), tower.norms[4])
        enc2 = same(hidden4, tower.halve[1]).relu()
        if latent is not None:
            enc2 = torch.cat([enc2, latent], 1)
        enc3 = same(enc2, tower.join).relu()
        hidden5 = norm(lstm(enc3, 4), tower.norms[5])
        hidden6 = norm(lstm(up(hidden5, 0), 5), tower.norms[6])
        enc5 = up(torch.cat([hidden6, enc1], 1), 1)
        hidden7 = norm(lstm(enc5, 6), tower.norms[7])
        enc6 = norm(up(torch.cat([hidden7, enc0], 1), 2), tower.norms[8])
        kernels = (hidden5.flatten(1) @ tower.kernels.weight.T + tower.kernels.bias).reshape(
            len(frame), tower.masks, tower.kernel, tower.kernel
        )
        kernels = (kernels - 1e-12).relu() + 1e-12
        kernels = kernels / kernels.sum(dim=(2, 3), keepdim=True)
        candidates = [same(enc6, tower.scratch).sigmoid()]
        candidates += list(loop_moved(frame, kernels).unbind(1))
        masks = same(enc6, tower.mask).softmax(1).split(1, 1)
        output = masks[0] * frame
        for candidate, mask in zip(candidates, masks[1:], strict=False):
            output = output + candidate * mask
        outputs.append(output)
        memory = new
    return outputs


@pytest.mark.parametrize("name", ["cdna", "sv2p"])
def test_the_tower_and_its_gradients_are_those_of_a_loop(name):
    tower = make(name, (1, 8, 8), 1, 2, widths=(2,) * 7, masks=2).double().tower
    for part in tower.parameters():
        nn.init.normal_(part, std=0.4)
    frames = [frame.double() for frame in clip(batch=2)[:, :2, :1, :8, :8].unbind(1)]
    latent = torch.randn(2, 1, 1, 1, dtype=torch.float64) if name == "sv2p" else None
    memory, actual = None, []
    for frame in frames:
        out, memory = tower(frame, memory, latent)
        actual.append(out)
    expected = loop_tower(tower, frames, latent)
    close = {"rtol": 1e-4, "atol": 1e-6}  # kernels are float32
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other, **close)
    gradients = [
        torch.autograd.grad((out[1] ** 2).sum(), list(tower.parameters()), allow_unused=True)
        for out in (actual, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, **close)


def test_the_last_kernel_counts_unless_it_is_as_released():
    for every in (False, True):
        model = make("cdna", all_kernels=every)
        model.loss(clip(), 10**6).backward()
        last = model.tower.kernels.weight.grad.unflatten(0, (3, 9))
        assert (last[:-1] != 0).any()
        assert (last[-1] != 0).any() == every


def test_sv2p_without_latents_is_cdna():
    plain, told = make("cdna"), make("sv2p", latent_channels=0)
    told.load_state_dict(plain.state_dict())
    frames = clip()
    assert torch.equal(told(frames[:, :2], 4), plain(frames[:, :2], 4))
    torch.manual_seed(0)
    one = told.loss(frames, 100)
    torch.manual_seed(0)
    assert one == plain.loss(frames, 100)


def test_interpolation_puts_means_between_neighbours():
    layer = cdna.Up(1, smooth=True)
    with torch.no_grad():
        layer.layer.weight.copy_(F.pad(torch.ones(1, 1, 1, 1), (1, 1, 1, 1)))
    actual = layer(torch.tensor([[[[1.0, 3.0], [5.0, 11.0]]]]))
    assert actual.tolist() == [[[[1, 2, 3, 3], [3, 5, 7, 7], [5, 8, 11, 11], [5, 8, 11, 11]]]]


def test_a_latent_vector_joins_layers_as_stripes():
    tower = make("savp").tower
    joined = tower._append_stripe(torch.zeros(1, 2, 16, 3), torch.arange(8.0)[None])
    assert joined.shape == (1, 3, 16, 3)
    assert joined[0, 2, :, 1].tolist() == [*range(8), *range(8)]


@torch.no_grad()
def test_forecasts_of_svg_are_drawn_over_the_last_frame_seen():
    model, shown, kept = make("svg").eval(), clip()[:, :2], []
    model.decoder.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[1]))
    model(shown, 4)
    _, expected = model.encoder(shown[:, -1])
    assert len(kept) == 4
    assert all(torch.equal(*pair) for one in kept for pair in zip(one, expected, strict=True))


def test_the_loss_of_svg_is_that_of_a_loop():
    """Equation 3 of Denton and Fergus 2018, summed over frames, with the divergence of torch."""
    for name in ("svg", "svg, learned"):
        model, frames = make(name, kl_weight=0.3).train(), clip()
        noise = torch.Generator().manual_seed(5)
        draws = [torch.randn(3, 3, generator=noise) for _ in range(5)]
        with pytest.MonkeyPatch.context() as patch:
            given = iter(draws)
            patch.setattr(torch, "randn_like", lambda like, given=given: next(given))
            actual = model.loss(frames, 0)
        states = dict.fromkeys(("posterior", "prior", "predictor"))

        def lstm(part, x, states=states, model=model):
            network = getattr(model, part)
            x = network.enter(x)
            states[part] = states[part] or [None] * len(network.cells)
            for i, cell in enumerate(network.cells):
                states[part][i] = cell(x, states[part][i])
                x = states[part][i][0]
            return [leave(x) for leave in network.leave]

        total, skip = 0.0, []
        for t in range(1, 6):
            code, seen = model.encoder(frames[:, t - 1])
            skip = seen if t <= 2 else skip
            mean, log_variance = lstm("posterior", model.encoder(frames[:, t])[0])
            posterior = Normal(mean, (log_variance / 2).exp())
            prior = Normal(torch.zeros(3, 3), torch.ones(3, 3))
            if model.prior is not None:
                mean, log_variance = lstm("prior", code)
                prior = Normal(mean, (log_variance / 2).exp())
            z = posterior.mean + posterior.stddev * draws[t - 1]
            (predicted,) = lstm("predictor", torch.cat([code, z], 1))
            error = (model.decoder(predicted.tanh(), skip) - frames[:, t]).square().mean()
            total = total + error + 0.3 * kl_divergence(posterior, prior).sum() / 3
        torch.testing.assert_close(actual, total)


def test_divergence_from_noise_is_that_of_torch():
    mean, log_variance = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    expected = kl_divergence(Normal(mean, (log_variance / 2).exp()), Normal(0, 1)).sum() / 2
    torch.testing.assert_close(sv2p.divergence(mean, log_variance), expected)


# Training


def test_fewer_clips_are_shown_as_training_goes_on():
    expected_at = {0: 16, 900 * 6: 11, 6000: 9, 900 * 7: 7, 900 * 9: 2, 10**6: 0}
    for step, expected in expected_at.items():
        share = 900 / (900 + math.exp(min(step / 900, 700)))
        shown = cdna.draw_true_inputs(step, 16, 50, 900.0)
        assert (shown.sum(dim=0) == round(16 * share)).all()
        assert shown.sum(dim=0)[0] == expected
    middle = cdna.draw_true_inputs(900 * 7, 16, 400, 900.0).float().mean(dim=1)
    assert middle.min() > 0.3, "each clip has its turn"
    assert not cdna.draw_true_inputs(0, 4, 5, 0.0).any()


def test_the_weight_of_the_divergence_grows_in_the_third_stage():
    def weight(step, how="linear"):
        return sv2p.annealed_weight(step, 50, 100, 0.4, how)

    assert [weight(step) for step in (0, 49, 50, 75, 100, 1000)] == [0, 0, 0, 0.2, 0.4, 0.4]
    assert [weight(step, "constant") for step in (49, 50, 1000)] == [0, 0.4, 0.4]
    assert make("sv2p").kl_weight == 1e-3


def test_the_inference_network_learns_in_the_second_stage_and_counts_in_the_third():
    model, frames = make("sv2p", stages=(10, 20, 30), kl_weight=1.0), clip()
    gradients = {}
    for step in (9, 10, 30):
        model.zero_grad()
        torch.manual_seed(3)
        loss = model.loss(frames, step)
        loss.backward()
        gradients[step] = model.inference.mean.weight.grad.abs().sum()
    assert gradients[9] == 0 < gradients[10] < gradients[30]


def test_discriminators_and_what_makes_videos_learn_from_their_own_loss_alone():
    torch.manual_seed(0)
    judge = savp.Discriminator((1, 8, 8), 4, 2).eval()
    real, made = torch.rand(2, 4, 1, 8, 8), torch.rand(2, 4, 1, 8, 8, requires_grad=True)
    total = savp.adversarial(judge, real, made)
    total.backward()
    logits = judge(torch.cat([real, made.detach()]))
    own = F.binary_cross_entropy_with_logits(logits[:2], torch.full((2,), 0.75))
    own = own + F.binary_cross_entropy_with_logits(logits[2:], torch.zeros(2))
    for parameter, expected in zip(
        judge.parameters(), torch.autograd.grad(own, list(judge.parameters())), strict=True
    ):
        torch.testing.assert_close(parameter.grad, expected)
    believed = F.softplus(-judge(made)).mean()
    torch.testing.assert_close(made.grad, torch.autograd.grad(believed, made)[0])
    torch.testing.assert_close(total, own + believed)
    assert all(parameter.requires_grad for parameter in judge.parameters())


@pytest.mark.parametrize("name", ["sv2p", "savp"])
def test_every_weight_learns(name):
    model, frames = make(name), clip()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(6):
        optimiser.zero_grad()
        torch.manual_seed(4)
        loss = model.loss(frames, 200_000)
        loss.backward()
        assert all(p.grad is not None for p in model.parameters())
        losses.append(loss.item())
        optimiser.step()
    assert losses[-1] < losses[0]


def test_a_short_video_goes_on_with_its_last_frame_for_a_discriminator():
    judge = savp.Discriminator((1, 8, 8), 2, 2).eval()
    video = torch.rand(2, 2, 1, 8, 8)
    longer = torch.cat([video, video[:, 1:], video[:, 1:]], dim=1)
    assert torch.equal(judge(video), judge(longer))
    make("savp", (3, 16, 8), 2, 1).loss(clip(frames=3), 0).backward()
