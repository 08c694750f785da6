"""From a recipe to a model, and what people see when the recipe is wrong."""

import sys

import pytest
import torch

import stp.models
from stp.core.errors import StpError
from stp.models.convlstm import Model
from stp.models.create import create

RECIPE = {
    "model": "convlstm",
    "options": {"num_hidden": [4]},
    "shape": [1, 8, 8],
    "context": 3,
    "horizon": 2,
}

NETS = """
import torch
from torch import nn

NETWORKS = 3


class Blocks(nn.Module):
    def __init__(self, shape, made=1):
        super().__init__()
        self.layer, self.made = nn.Conv2d(shape[0], shape[0], 1), made

    def forward(self, x):
        return torch.stack([self.layer(x[:, i - self.made]) for i in range(self.made)], dim=1)


class TellsLeads(nn.Module):
    def forward(self, x, leads, factor=1.0):
        return torch.full((len(x), leads, *x.shape[2:]), leads * factor)


class Flat(nn.Module):
    def forward(self, x):
        return x.mean((-2, -1), keepdim=True)
"""


def test_a_recipe_names_the_module():
    model = create(RECIPE)
    assert isinstance(model, Model) and len(model.cells) == 1


def test_unknown_model():
    with pytest.raises(StpError, match="no model 'convlstn'"):
        create({**RECIPE, "model": "convlstn"})


def test_a_module_without_model_is_none():
    with pytest.raises(StpError, match="no model 'padding'"):
        create({**RECIPE, "model": "padding"})


def test_unknown_option_names_the_nearest():
    with pytest.raises(StpError, match=r"'num_hiden'[\s\S]*num_hidden"):
        create({**RECIPE, "options": {"num_hiden": [4]}})


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A package that knows nothing of this one."""
    (tmp_path / "nets_of_others.py").write_text(NETS)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "nets_of_others.py"
    sys.modules.pop("nets_of_others", None)


def outside(name, **options):
    return create({**RECIPE, "model": "x", "class": f"nets_of_others:{name}", "options": options})


def test_a_class_of_others_forecasts_and_is_trained_on_its_squared_error(nets):
    model, clip = outside("Blocks", made=2), torch.rand(2, 3 + 5, 1, 8, 8)
    forecast = model(clip[:, :3], 5)
    assert forecast.shape == (2, 5, 1, 8, 8)
    torch.testing.assert_close(forecast[:, 2], model(forecast[:, :2], 1)[:, 0])
    torch.testing.assert_close(model.loss(clip, 0), (forecast - clip[:, 3:]).square().mean())
    bare = {"layer.weight": torch.zeros(1, 1, 1, 1), "layer.bias": torch.ones(1)}
    model.load_state_dict(model.from_published(bare))
    assert (model(clip[:, :3], 5) == 1).all()
    assert model.from_published(model.state_dict()).keys() == model.state_dict().keys()
    assert outside("TellsLeads")(clip[:, :3], 4).flatten(2)[0, :, 0].tolist() == [4, 4, 4, 4]


@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("Blocks", {"mad": 3}, "made"),
        ("TellsLeads", {"made": 3}, "takes no options"),
        ("Lost", {}, "Lost"),
        ("NETWORKS", {}, "NETWORKS"),
    ],
)
def test_a_class_or_option_of_others_that_does_not_exist(nets, name, options, what):
    with pytest.raises(StpError, match=what):
        outside(name, **options)


def test_a_forecast_of_others_of_another_shape_names_their_file(nets):
    with pytest.raises(StpError) as caught:
        outside("Flat")(torch.rand(2, 3, 1, 8, 8), 5)
    assert str(nets) in caught.value.what and "(2, 3, 1, 1, 1)" in caught.value.what


def test_a_plain_module_in_our_place_is_told_of_the_base_class(nets, monkeypatch):
    monkeypatch.setattr(stp.models, "__path__", [*stp.models.__path__, str(nets.parent)])
    (nets.parent / "plain_module.py").write_text(NETS.replace("Flat", "Model"))
    with pytest.raises(StpError, match="ForecastModel") as caught:
        create({**RECIPE, "model": "plain_module"})
    assert str(nets.parent / "plain_module.py") in caught.value.what


def test_the_shape_is_no_option():
    with pytest.raises(StpError, match="'context'"):
        create({**RECIPE, "options": {"context": 4}})


def test_a_model_without_options():
    with pytest.raises(StpError, match="takes no options, but num_hidden is set"):
        create({**RECIPE, "model": "persistence"})
