"""SimVPv2: published sizes, horizons other than the context, learning."""

import torch

from stp.models.simvp import Block
from stp.models.simvpv2 import Attention, Model

SMALL = {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2, "mlp_ratio": 2}


def small(context: int = 3, horizon: int = 3, **options: object) -> Model:
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options}).eval()


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


def test_longer_horizon_reads_its_own_frames():
    model, frames = small(3, 5), torch.rand(2, 3, 1, 8, 8)
    first = model._pass(frames)
    expected = torch.cat([first, model._pass(first)[:, :2]], dim=1)
    torch.testing.assert_close(model(frames, 5), expected)


def test_training_goes_through_the_loop():
    model, clip = small(2, 4).train(), torch.rand(1, 6, 1, 8, 8)
    calls = []
    model.readout.register_forward_hook(lambda *_: calls.append(1))
    assert model.loss(clip, 0).requires_grad
    assert len(calls) == 2
