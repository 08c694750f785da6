"""ClimaX: the layout of published weights, variables as tokens, and the lead time it is told."""

import pytest
import torch
from torch import nn

from stp.core.errors import StpError
from stp.models.climax import VARIABLES, position_embeddings
from stp.models.create import create

SMALL = {"patch": 2, "width": 16, "depth": 2, "heads": 2, "drop": 0.0, "drop_path": 0.0}


def make(shape: tuple[int, int, int], horizon: int = 3, **options) -> nn.Module:
    torch.manual_seed(0)
    recipe = {"shape": shape, "context": 1, "horizon": horizon}
    return create({"model": "climax", "options": {**SMALL, **options}, **recipe}).eval()


def layout(width: int, depth: int, patches: int, patch: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the released module (src/climax/arch.py, default arguments)."""
    v, d = len(VARIABLES), width
    linear = {
        "var_agg.out_proj": (d, d),
        "lead_time_embed": (d, 1),
        **{f"head.{2 * i}": (d, d) for i in range(2)},
        "head.4": (v * patch**2, d),
    }
    actual = {"var_embed": (1, v, d), "var_query": (1, 1, d), "pos_embed": (1, patches, d)}
    actual |= {"var_agg.in_proj_weight": (3 * d, d), "var_agg.in_proj_bias": (3 * d,)}
    actual |= {"norm.weight": (d,), "norm.bias": (d,)}
    for i in range(v):
        actual[f"token_embeds.{i}.proj.weight"] = (d, 1, patch, patch)
        actual[f"token_embeds.{i}.proj.bias"] = (d,)
    for i in range(depth):
        linear |= {f"blocks.{i}.attn.qkv": (3 * d, d), f"blocks.{i}.attn.proj": (d, d)}
        linear |= {f"blocks.{i}.mlp.fc1": (4 * d, d), f"blocks.{i}.mlp.fc2": (d, 4 * d)}
        for norm in ("norm1", "norm2"):
            actual |= {f"blocks.{i}.{norm}.{part}": (d,) for part in ("weight", "bias")}
    for name, shape in linear.items():
        actual |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return actual


def test_names_and_shapes_are_those_of_the_release():
    """48 variables of 32 x 64 points in patches of 2, width 1024, 8 blocks, a head of 2 layers."""
    recipe = {"shape": [48, 32, 64], "context": 1, "horizon": 1}
    with torch.device("meta"):
        model = create({"model": "climax", "options": {"patch": 2}, **recipe})
    actual = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    assert actual == layout(1024, 8, 512, 2)


def test_published_weights_are_taken_of_the_variables_that_are_named():
    names = ["geopotential_500", None, "temperature_850"]
    model = make((3, 6, 10), variables=names)
    torch.manual_seed(1)
    shapes = layout(16, 2, 8, 2)  # 4 x 8 points
    given = {f"net.{name}": torch.randn(shape) for name, shape in shapes.items()}
    taken = model.from_published(given)
    before = model.state_dict()
    assert {n: t.shape for n, t in taken.items()} == {n: t.shape for n, t in before.items()}
    there = VARIABLES.index("temperature_850")
    assert torch.equal(taken["var_embed"][0, 2], given["net.var_embed"][0, there])
    name = "token_embeds.{}.proj.weight"
    assert torch.equal(taken[name.format(2)], given[f"net.{name.format(there)}"])
    assert torch.equal(taken[name.format(1)], before[name.format(1)]), "it is not published"
    # Rows of the head: variables change fastest.
    ours, theirs = taken["head.4.bias"].view(4, 3), given["net.head.4.bias"].view(4, 48)
    assert torch.equal(ours[:, 2], theirs[:, there])
    assert torch.equal(ours[:, 1], before["head.4.bias"].view(4, 3)[:, 1])
    assert torch.equal(taken["blocks.1.mlp.fc2.weight"], given["net.blocks.1.mlp.fc2.weight"])
    model.load_state_dict(taken)
    with pytest.raises(StpError, match="48"):
        make((3, 6, 10)).from_published(given)


def test_changes_begin_at_the_latest_frame_and_weights_are_as_wide_as_asked():
    """Without a head, the forecast is the day before."""
    model, frames = make((2, 5, 7), predicts="change", initial_std=0.5), torch.randn(2, 1, 2, 5, 7)
    assert model.blocks[0].mlp.fc1.weight.std().item() == pytest.approx(0.5, rel=0.1)
    nn.init.zeros_(model.head[-1].weight)
    assert torch.equal(model(frames, 2), frames.expand(-1, 2, -1, -1, -1))
    predicted, _ = model.outputs(frames.expand(-1, 4, -1, -1, -1), 0)
    assert torch.equal(predicted, frames)


def test_a_forecast_depends_on_its_own_lead_time_alone():
    model, frames = make((2, 5, 7)), torch.randn(2, 1, 2, 5, 7)
    forecast = model(frames, 3)
    assert forecast.shape == (2, 3, 2, 5, 7)
    told = model(frames, 2, lead_times=[3, 9])
    torch.testing.assert_close(told[:, 0], forecast[:, 2])
    assert not torch.allclose(told[:, 1], told[:, 0], atol=0, rtol=1e-3)


def test_outputs_are_put_where_they_belong():
    """A head that gives its own number: patches by rows, pixels by rows, then channels."""
    model = make((3, 4, 6))
    nn.init.zeros_(model.head[-1].weight)
    with torch.no_grad():
        model.head[-1].bias.copy_(torch.arange(12.0))
    actual = model(torch.zeros(1, 1, 3, 4, 6), 1)[0, 0]
    y, x, c = torch.meshgrid(torch.arange(4), torch.arange(6), torch.arange(3), indexing="ij")
    assert torch.equal(actual.permute(1, 2, 0), ((y % 2 * 2 + x % 2) * 3 + c).float())


def test_places_tell_columns_and_rows():
    actual = position_embeddings((3, 5), 16).view(3, 5, 16)
    assert torch.equal(actual[0, :, :8], actual[2, :, :8]), "of columns"
    assert torch.equal(actual[:, 0, 8:], actual[:, 4, 8:]), "of rows"


def test_each_clip_is_trained_on_a_lead_time_of_its_own():
    """The second number of a clip is its lead time."""
    model = make((1, 4, 4), horizon=6, leads=[2, 5]).train()
    clip = torch.arange(7.0)[None, :, None, None, None].expand(64, 7, 1, 4, 4)
    predicted, observed = model.outputs(clip, 0)
    assert predicted.shape == observed.shape == (64, 1, 1, 4, 4)
    assert set(observed.flatten().tolist()) == {2.0, 5.0}


def test_learns_what_each_lead_time_brings():
    """A wave that moves by a point in a frame, of which one frame is shown.

    What ignores the lead time errs by a quarter at best, half of the variance of the waves.
    """
    model = make((1, 4, 8), horizon=3, leads=[1, 3], hours=400.0, depth=1, patch=4).train()
    phases = torch.rand(32, 1) * 2 * torch.pi
    waves = torch.sin(torch.arange(8) * torch.pi / 4 + phases)
    clip = torch.stack([waves.roll(-t, -1) for t in range(4)], dim=1)
    clip = clip[:, :, None, None].expand(32, 4, 1, 4, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(150):
        optimizer.zero_grad()
        model.loss(clip, step).backward()
        optimizer.step()
    with torch.inference_mode():
        forecast = model.eval()(clip[:, :1], 2, lead_times=[1, 3])
    errors = (forecast - clip[:, [1, 3]]).square().mean(dim=(0, 2, 3, 4))
    assert (errors < 0.1).all()
