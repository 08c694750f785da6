"""SimVPv2: published sizes, horizons other than the context, learning."""

import pytest
import torch

from stp.core.errors import StpError
from stp.models.simvp import Block
from stp.models.simvpv2 import Attention, Model

SMALL = {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2, "mlp_ratio": 2}


def small(context: int = 3, horizon: int = 3, **options: object) -> Model:
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options}).eval()


@pytest.mark.parametrize(
    ("shape", "context", "blocks", "parameters"),
    [
        ((1, 64, 64), 10, 8, 46_769_665),  # PredBench, table 19: "46.77 M"
        ((1, 64, 64), 10, 6, 36_104_705),  # counted in the released configurations
        ((1, 24, 48), 12, 6, 39_862_785),
        ((69, 128, 256), 2, 6, 27_669_573),
    ],
)
def test_published_size(shape, context, blocks, parameters):
    model = Model(shape, context, context, n_t=blocks)
    assert sum(p.numel() for p in model.parameters()) == parameters


def test_attention_reaches_as_far_as_a_kernel_of_21():
    # 5 + (7 - 1) * 3 - 0 = 23 pixels wide: 2 + 9 = 11 to each side
    torch.manual_seed(0)
    attention, x = Attention(2), torch.zeros(1, 2, 31, 31)
    moved = x.clone()
    moved[..., 15, 15] = 1
    changed = (attention(moved) - attention(x)).abs().amax(dim=(0, 1)) > 0
    rows = changed.any(dim=1).nonzero().flatten()
    assert (rows.min().item(), rows.max().item()) == (15 - 11, 15 + 11)


def test_a_new_block_hardly_changes_its_input():
    # layer scales of 0.01
    torch.manual_seed(0)
    block, x = Block(8, 8, 2.0, Attention(8)).eval(), torch.randn(2, 8, 6, 6)
    change = (block(x) - x).std() / x.std()
    assert 0 < change < 0.05


def test_detail_passes_by_the_translator():
    class Nothing(torch.nn.Module):
        def forward(self, x):
            return torch.zeros_like(x)

    model = small()
    model.translator = Nothing()
    dark, bright = torch.zeros(1, 3, 1, 8, 8), torch.zeros(1, 3, 1, 8, 8)
    bright[..., 4, 4] = 1
    assert (model(dark, 3) != model(bright, 3)).any()


def test_gradient_reaches_every_parameter():
    model = small().train()
    model.loss(torch.rand(2, 6, 1, 8, 8), 0).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_longer_horizon_reads_its_own_frames():
    model, frames = small(3, 5), torch.rand(2, 3, 1, 8, 8)
    first = model._pass(frames)
    expected = torch.cat([first, model._pass(first)[:, :2]], dim=1)
    torch.testing.assert_close(model(frames, 5), expected)


def test_shorter_horizon_keeps_the_first_frames():
    model, frames = small(3, 2), torch.rand(2, 3, 1, 8, 8)
    torch.testing.assert_close(model(frames, 2), model._pass(frames)[:, :2])


def test_more_lead_times_than_trained_go_block_by_block():
    model, frames = small(3, 2), torch.rand(1, 3, 1, 8, 8)
    first = model._pass(frames)[:, :2]
    second = model._pass(torch.cat([frames[:, 2:], first], dim=1))[:, :2]
    expected = torch.cat([first, second], dim=1)
    torch.testing.assert_close(model(frames, 4), expected)
    torch.testing.assert_close(model(frames, 3), expected[:, :3])


def test_training_goes_through_the_loop():
    model, clip = small(2, 4).train(), torch.rand(1, 6, 1, 8, 8)
    calls = []
    model.readout.register_forward_hook(lambda *_: calls.append(1))
    assert model.loss(clip, 0).requires_grad
    assert len(calls) == 2


def test_sizes_that_cannot_be_halved():
    model = Model((2, 10, 7), 3, 3, **{**SMALL, "n_s": 4}).eval()
    assert model(torch.rand(1, 3, 2, 10, 7), 3).shape == (1, 3, 2, 10, 7)


@pytest.mark.long(part="learning")
def test_learns_a_few_clips_by_heart():
    clip = torch.stack([torch.eye(8).roll(t, 1) for t in range(6)])[None, :, None]
    model = small(hid_s=8, hid_t=16).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(100):
        optimizer.zero_grad()
        model.loss(clip, step).backward()
        optimizer.step()
    # the frames have variance 1/8 - 1/64 = 0.11
    assert model.loss(clip, 0) < 0.01


@pytest.mark.long(part="learning")
def test_a_step_of_the_published_size_lowers_the_loss():
    torch.manual_seed(0)
    model, clip = Model((1, 64, 64), 10, 10), torch.rand(1, 20, 1, 64, 64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3 / 25)  # the first of onecycle
    before = model.loss(clip, 0)
    before.backward()
    optimizer.step()
    with torch.inference_mode():
        assert model.loss(clip, 0) < before


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hid_s": 5}, "hid_s"),
        ({"hid_t": 0}, "hid_t"),
        ({"n_s": 3}, "n_s"),
        ({"n_t": 1}, "n_t"),
        ({"mlp_ratio": "wide"}, "mlp_ratio"),
    ],
)
def test_options_out_of_range_are_refused(options, named):
    with pytest.raises(StpError, match=named):
        small(**options)
