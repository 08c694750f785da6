"""From a recipe to a model, and what people see when the recipe is wrong."""

import sys

import pytest
import torch
from model_cases import recipe

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


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": "convlstn"}, "'convlstn'"),
        ({"model": "padding"}, "'padding'"),  # a module without a model
        ({"options": {"num_hiden": [4]}}, r"'num_hiden'[\s\S]*num_hidden"),
        ({"options": {"context": 4}}, "'context'"),  # is no option
        ({"model": "persistence"}, "persistence.*num_hidden"),
    ],
)
def test_unknown_models_and_options_are_named(changes, named):
    with pytest.raises(StpError, match=named):
        create({**RECIPE, **changes})


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


REFUSED = {
    "convlstm": [
        {"num_hidden": []},
        {"num_hidden": [8, 0]},
        {"num_hidden": 64},
        {"filter_size": 4},
    ],
    "e3dlstm": [{"num_hidden": [4, 5]}, {"filter_size": 4}, {"attention": "mixed"}],
    "mau": [{"scale": 3}, {"num_hidden": [4, 5]}],
    "phydnet": [{"scale": 3}, {"bounded": 1}, {"teacher_forcing": "no"}],
    **{
        name: [{"num_hidden": [4, 5]}, {"num_hidden": [0, 0]}, {"filter_size": 4}]
        for name in ("predrnn", "predrnnpp", "predrnnv2")
    },
    "simvpv1": [{"groups": 3}],
    "simvpv2": [{"hid_s": 5}, {"n_s": 3}, {"mlp_ratio": "wide"}],
    "earthformer": [
        *({"enc_depth": []}, {"dec_depth": [1]}, {"stem_channels": [7]}, {"stem_scales": [2]}),
        *({"stem_channels": [12], "heads": 8}, {"head_convs": [0]}, {"position": "h+w"}),
        *({"decoder_frames": "all"}, {"drop": 1}, {"enc_depth": [0, 1]}, {"stem_convs": [0]}),
        {"stem_scales": [[0, 2]]},
    ],
    "mcvd": [
        *({"multipliers": []}, {"multipliers": [1, 0]}, {"blocks": 1.5}, {"dropout": 1}),
        *({"attention_widths": 8}, {"attention_widths": [0]}),
        *({"betas": [0.02]}, {"betas": [0.02, 0]}, {"data_range": [1, 0]}),
    ],
    "climax": [
        *({"width": 10}, {"leads": [9]}, {"variables": ["z500"]}, {"drop": 1.0}),
        *({"predicts": "days"}, {"initial_std": 0}, {"hours": 0}),
    ],
    "unet": [{"channels": [8]}, {"channels": [8, 0]}, {"predicts": "nothing"}],
    "resnet": [{"blocks": []}, {"blocks": [1, 0]}],
    "fno": [{"modes": [4]}, {"modes": [4, 0]}, {"join": "add"}, {"output": "mixed"}],
    "vae": [{"bounded": 1}],
    "cdna": [{"widths": [3, 4]}, {"widths": [3] * 6 + [0]}, {"kernel": 4}, {"all_kernels": 1}],
    "sv2p": [
        *({"stages": [3, 2, 1]}, {"stages": [-1, 2, 3]}, {"latent_widths": [3]}),
        *({"latent_widths": [3, 4, 0]}, {"annealing": "cosine"}),
    ],
    "svg": [
        {"prior": "none"},
        {"seen": "none"},
        {"widths": []},
        {"widths": [3, 0]},
        {"batch_norm": 1},
    ],
    "savp": [{"smooth": 1}],
}
LEAST = {
    **{name: {"patch_size": 1, "filter_size": 1} for name in ("convlstm", "predrnn", "predrnnpp")},
    "predrnnv2": {"patch_size": 1, "filter_size": 1, "decouple_beta": 0},
    "e3dlstm": {"window": 1, "l1_weight": 0},
    "mau": {"scale": 1, "tau": 1, "filter_size": 1},
    "phydnet": {"moment_weight": 0, "teacher_forcing": 0},
    "simvpv1": {"n_t": 2, "groups": 1},
    "simvpv2": {"hid_s": 2, "hid_t": 1, "n_s": 2, "n_t": 2, "mlp_ratio": 1},
    "tau": {"change_weight": 0},
    "earthformer": {"heads": 1, "global_vectors": 0, "drop": 0},
    "mcvd": {
        **{"width": 1, "blocks": 1, "spade_width": 1, "noise_levels": 1},
        **{"dropout": 0, "mask_context": 0},
    },
    "small_convnet": {"width": 1, "layers": 1},
    "climax": {"patch": 1, "depth": 1, "decoder_depth": 1, "heads": 1, "drop": 0, "drop_path": 0},
    "resnet": {"width": 1},
    "vae": {"latent": 1, "kl_weight": 0, "seed": 0},
    "cdna": {"masks": 1, "kernel": 1, "sampling_k": 0},
    "sv2p": {"latent_channels": 0, "kl_weight": 0, "seed": 0},
    "svg": {
        **{"code": 1, "latent": 1, "hidden": 1, "depth": 1, "posterior_depth": 1},
        **{"kl_weight": 0, "seed": 0},
    },
    "savp": {
        **{"latent": 1, "encoder_width": 1, "discriminator_width": 1},
        **{"gan_weight": 0, "gan_vae_weight": 0, "seed": 0},
    },
}
"""The least value of each option."""


@pytest.mark.parametrize("name", LEAST)
def test_the_least_value_of_an_option_is_accepted_and_one_less_refused(name):
    for option, least in LEAST[name].items():
        create(recipe(name, (1, 8, 8), **{option: least}))
        with pytest.raises(StpError, match=rf"options\.{option}\b"):
            create(recipe(name, (1, 8, 8), **{option: least - 1}))


@pytest.mark.parametrize(("name", "options"), [(n, o) for n in REFUSED for o in REFUSED[n]])
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(StpError, match=rf"options\.{next(iter(options))}\b"):
        create(recipe(name, (1, 8, 8), **options))


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("convlstm", {"scheduled_sampling": {"stop": -1}}, "scheduled_sampling.stop"),
        ("convlstm", {"scheduled_sampling": {"rate": 2}}, "scheduled_sampling.rate"),
        ("convlstm", {"scheduled_sampling": {"step": 1}}, "stop"),
        ("predrnnv2", {"scheduled_sampling": {"stopp": 1}}, "stopp"),
        ("mcvd", {"sampler": {"name": "euler"}}, "sampler.name"),
        ("mcvd", {"sampler": {"steps": 0}}, "sampler.steps"),
        ("mcvd", {"sampler": {"clip": 0}}, "sampler.clip"),
        ("mcvd", {"sampler": {"denoise": 1}}, "sampler.denoise"),
        ("mcvd", {"sampler": {"seed": -1}}, "sampler.seed"),
        ("mcvd", {"sampler": {"step": 1}}, "steps"),
        ("earthformer", {"stem_channels": [8, 16]}, "stem_convs"),
        ("earthformer", {"heads": 3}, "heads"),
        ("predrnnpp", {"num_hidden": [4]}, "num_hidden"),
    ],
)
def test_options_of_parts_out_of_range_are_refused(name, options, named):
    with pytest.raises(StpError, match=named):
        create(recipe(name, (1, 8, 8), **options))
