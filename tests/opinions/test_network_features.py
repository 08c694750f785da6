"""What networks see of videos: computed once, shared by measures, learnt from in all splits."""

import importlib
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from lpips_reference import lpips
from opinion_files import some

from stp.collect.published import of_cell, read_published
from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.core.job import Job
from stp.features import videos
from stp.features.videos import STEPS, features_of
from stp.metrics.frame_features import motion_compensated_similarity
from stp.metrics.networks import c3d
from stp.metrics.networks.maps import NETWORKS, open_feature_maps
from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.trunks import Trunk
from stp.opinions import network_features as stored
from stp.opinions import quality
from stp.opinions.measures import Unavailable, network_features
from stp.opinions.prepared import Video, open_database
from stp.options.quality import COMPONENTS, QualityOptions
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.manifests import manifest
from stp.predict import opinions as predict
from stp.render.tables.people import absent_methods

CHANNELS = 512


def maps(frames: np.ndarray) -> np.ndarray:
    """Maps (T, 4, 4, 512) that need no network: patches, repeated."""
    parts = frames.reshape(len(frames), 4, 16, 4, 16, 3).mean(axis=(2, 4)) / 255
    return np.tile(parts, (1, 1, 1, CHANNELS // 3 + 1))[..., :CHANNELS].astype(np.float32)


def test_parts_of_a_video():
    torch.manual_seed(0)
    state = Trunk("squeezenet").state_dict()
    made = open_feature_maps("squeezenet", state, torch.device("cpu"))
    video = np.random.default_rng(0).integers(0, 256, (20, 64, 64, 3), dtype=np.uint8)
    network_maps = replace(made, maps=maps, compared=maps)
    seconds: dict[str, float] = {}
    with torch.inference_mode():
        actual = features_of(Video(video, video), network_maps, 4, seconds)
    assert set(actual) == set(stored.PARTS)
    steps = {step for name, of in STEPS.items() if name != "entropy" for step in of}
    assert set(seconds) == steps and min(seconds.values()) > 0
    assert seconds["predicted"] == pytest.approx(0.8 * seconds["frames"])  # 16 of 20 frames
    assert actual["ssa"].shape == actual["mcs"].shape == actual["rfd"].shape == (20, CHANNELS)
    assert actual["mcs_written"].shape == (16, CHANNELS)
    assert actual["rfd_written"].shape == (19, CHANNELS)
    expected = motion_compensated_similarity(maps(video), 4, "written")
    np.testing.assert_allclose(actual["mcs_written"], expected)
    # a prediction that is the truth
    assert actual["mse"] == 0 and actual["lpips"] == pytest.approx(0, abs=1e-9)
    assert actual["cosine"] == pytest.approx(1)
    with torch.inference_mode():
        alone = features_of(Video(video, None), network_maps, 4, {})
    assert all(np.isnan(alone[name]).all() for name in ("mse", "cosine", "lpips"))
    assert np.isnan(actual["entropy"]).all()  # no classifier is read


def test_entropy_is_of_the_predicted_frames_and_null_without_a_classifier(data: Path):
    torch.manual_seed(0)
    state = Trunk("squeezenet").state_dict()
    made = open_feature_maps("squeezenet", state, torch.device("cpu"))
    shown: list[np.ndarray] = []

    def entropies(frames: np.ndarray) -> np.ndarray:
        shown.append(frames)
        return np.arange(len(frames), dtype=float)

    network_maps = replace(made, maps=maps, compared=maps, entropies=entropies)
    video = np.random.default_rng(0).integers(0, 256, (20, 64, 64, 3), dtype=np.uint8)
    actual = features_of(Video(video, None), network_maps, 4, {})
    assert actual["entropy"] == 7.5
    np.testing.assert_array_equal(shown[0], video[4:])
    nothing = stored.NetworkFeatures({"entropy": np.full((60, 1), np.nan, np.float32)}, ["entropy"])
    why = network_features.values(open_database(data, 4), nothing)
    assert isinstance(why, Unavailable) and "entropy needs the classifier" in why.reason


@pytest.mark.long(part="suites")
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("vgg19", (2, 2, 512)),
        ("resnet50", (2, 2, 2048)),
        ("inception", (1, 1, 2048)),  # enlarged to 75 pixels
    ],
)
def test_maps_of_the_networks_of_the_paper(name: str, shape: tuple[int, ...]):
    lpips()  # makes torchvision importable
    models = importlib.import_module("torchvision.models")
    if name == "vgg19":  # without its 120 million weights behind the maps, which take ten seconds
        layers = models.vgg.make_layers(models.vgg.cfgs["E"])
        network = torch.nn.Sequential(OrderedDict(features=layers))
    elif name == "inception":
        network = models.inception_v3(weights=None, init_weights=False)
    else:
        network = models.resnet50(weights=None)
    network = draw(network, 0)
    frames = np.random.default_rng(0).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    state = network.state_dict()
    if name == "vgg19":
        state["classifier.0.weight"] = torch.zeros(1)
    network_maps = open_feature_maps(name, state, torch.device("cpu"))
    with torch.inference_mode():
        actual = network_maps.maps(frames)
        assert actual.shape == (2, *shape) and network_maps.channels == shape[-1]
        assert NETWORKS[name].smallest <= 64 and actual.std() > 0
        if name != "inception":  # whose maps are compared in test_metric_inception.py
            scaled = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 255
            mean, deviation = (
                torch.tensor(v)[:, None, None]
                for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
            )
            last = {"vgg19": "features", "resnet50": "layer4"}[name]
            outputs: list[torch.Tensor] = []
            network.get_submodule(last).register_forward_hook(lambda *one: outputs.append(one[2]))
            network((scaled - mean) / deviation)
            expected = outputs[0].permute(0, 2, 3, 1).numpy()
            np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)
        if name == "vgg19":
            assert network_maps.compared(frames).shape == (2, 4, 4, 512)  # before the pool
    with pytest.raises(StpError, match="weights"):
        open_feature_maps(name, {"conv1.weight": torch.zeros(1)}, torch.device("cpu"))


def test_c3d_looks_at_clips(monkeypatch: pytest.MonkeyPatch):
    """20 frames of 112 pixels have two maps of 7 x 7; only SSA is made of them."""
    with torch.device("meta"), torch.inference_mode():
        assert c3d.C3D()(torch.empty(1, 3, 20, 112, 112)).shape == (1, 512, 2, 7, 7)
    monkeypatch.setattr(c3d, "SIZE", 32)
    state = draw(c3d.C3D(), 0).state_dict() | {"fc6.weight": torch.zeros(1)}
    network_maps = open_feature_maps("c3d", state, torch.device("cpu"))
    video = np.random.default_rng(0).integers(0, 256, (20, 64, 48, 3), dtype=np.uint8)
    with torch.inference_mode():
        actual = features_of(Video(video, video), network_maps, 4, {})
        still = features_of(Video(video[:1].repeat(20, 0), None), network_maps, 4, {})
    assert actual["ssa"].shape == (2, 512) and set(actual) == set(stored.PARTS)
    assert all(np.isnan(actual[name]).all() for name in stored.PARTS if name != "ssa")
    assert actual["ssa"].std() > 0 and not np.allclose(actual["ssa"], still["ssa"])
    del state["conv5b.bias"]
    with pytest.raises(StpError, match=r"C3D.*conv5b\.bias"):
        open_feature_maps("c3d", state, torch.device("cpu"))


def test_seconds_of_a_video_are_those_of_its_steps(data: Path, tmp_path: Path):
    """Random weights; without a classifier there is no entropy."""
    torch.manual_seed(0)
    weights = tmp_path / "weights.pth"
    torch.save(Trunk("squeezenet").state_dict(), weights)
    out = tmp_path / "features"
    out.mkdir()
    checksum = {"sha256": identify(weights)["sha256"]}
    recipe = {"network": "squeezenet", "weights": checksum, "context": 4}
    inputs = {"data": some(data, tmp_path / "few", range(4))}
    runtime = {"weights": {"squeezenet": str(weights)}, "device": "cpu"}
    told: Any = videos.run(Job(recipe, inputs, out, out, runtime))
    assert set(told["seconds"]) == set(stored.PARTS) - {"entropy"}
    assert set(told["seconds"]["mcs"]) == {"frames", "mcs"}
    steps = {step: took for of in told["seconds"].values() for step, took in of.items()}
    together = sum(took for step, took in steps.items() if step != "predicted")
    assert 0 < together <= 1.01 * told["seconds_per_video"] + 1e-3
    names = open_database(data, 4).names[:4]
    actual = stored.read(out, names, ["mcs", "lpips", "entropy"]).parts
    assert actual["mcs"].shape == (4, 20 * CHANNELS) and np.isfinite(actual["lpips"]).all()
    assert np.isnan(actual["entropy"]).all()


def test_opinions_that_follow_from_features_are_learnt(data: Path, tmp_path: Path):
    database = open_database(data, 4)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 300)).astype(np.float32)
    features[:, :3] += 5 * (database.mos[:, None] - 50) / 15
    folder = tmp_path / "features"
    folder.mkdir()
    stored.write(folder, database.names, {"mcs": features, "rfd": features[:, 3:]})

    def run(parts: list[str], name: str, inputs: dict[str, Path]) -> tuple[float, str]:
        out = tmp_path / name
        out.mkdir()
        given = {"regression": "linear", "parts": parts}
        recipe = {"model": "any", "source": "network_features", "predict": given}
        job = Job({**recipe, "context": 4, "split": "random"}, inputs, out, out)
        predict.run(job)
        table, reason = quality.read(out)
        rows = table.to_pandas()
        return float(rows["predicted"].corr(rows["observed"])) if len(rows) else np.nan, reason

    both = {"data": data, "features": folder}
    assert run(["mcs"], "informed", both)[0] > 0.95
    assert abs(run(["rfd"], "noise", both)[0]) < 0.5
    assert run(["mcs"], "absent", {"data": data})[1].startswith("the weights of the network")
    with pytest.raises(StpError, match="nothing"):
        run(["mcs", "nothing"], "unknown", both)


def test_a_network_looks_once_for_all_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "alexnet_features.pth").write_bytes(b"")  # planned, not read
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    plan = Plan.load(CONFIG_FOLDER / "pvqa-demo.yaml")
    looked: dict[str, set[str]] = {}
    for made in plan.cells:
        network = plan.config.models[made.cell.model].network
        assert made.predictions is not None
        inputs = made.predictions.inputs
        if network == "alexnet":
            looked.setdefault(inputs["features"].label, set()).add(made.cell.model)
        else:
            assert set(inputs) == {"data"}, made.cell.model
    assert set(looked) == {"alexnet of pvqa"} and len(looked["alexnet of pvqa"]) == 8


def test_printed_values_of_table_5_stand_beside_the_regressions():
    """Those that no cell is of stand alone, with the reason."""
    scale = yaml.safe_load((CONFIG_FOLDER / "pvqa-demo.yaml").read_text())
    told = scale["dimensions"]["quality_regressions"]
    told["models"].append("resnet50_mcs_rfd")
    some = ["linear", "polynomial", "svr_linear", "svr_rbf"]
    on = {"trained_on": "pvqa", "subset": "published"}
    told["cells"] = [
        on,
        {**on, "models": ["alexnet_mcs_rfd"], "variant": "ridge"},
        {**on, "models": ["resnet50_mcs_rfd"], "variant": some},
    ]
    made = manifest(Plan.load(scale), "quality_regressions")
    values = read_published(made.published)
    printed = {}
    for cell in made.cells:
        beside = of_cell(made, cell, values)
        printed[cell.key.model, cell.key.variant] = {one.metric: one.value for one in beside}
    for variant, srocc in zip(some, (0.8268, 0.7502, 0.8268, 0.7135), strict=True):
        assert printed["resnet50_mcs_rfd", variant]["SROCC"] == srocc
    assert printed["alexnet_mcs_rfd", "ridge"] == {}
    alone = dict(absent_methods(made, list(made.cells), values))
    assert set(alone) == {"Neural Network"} and "weights" in alone["Neural Network"]


def test_entropy_of_inception_stands_beside_the_printed_value():
    scale = yaml.safe_load((CONFIG_FOLDER / "pvqa-demo.yaml").read_text())
    on = {"trained_on": "pvqa", "subset": "published"}
    scale["dimensions"]["quality_measures"] = {
        "models": ["inception_entropy"],
        "cells": [on, {**on, "variant": "on_test"}],
    }
    made = manifest(Plan.load(scale), "quality_measures")
    values = read_published(made.published)
    beside, on_test = (of_cell(made, cell, values) for cell in made.cells)
    assert {one.metric: one.value for one in beside}["SROCC"] == 0.0828 and not on_test
    alone = dict(absent_methods(made, list(made.cells), values))
    assert not any(name.startswith("Inception Score") for name in alone)


def test_c3d_has_the_components_of_the_paper_unless_a_setting_says_otherwise():
    scale = yaml.safe_load((CONFIG_FOLDER / "pvqa-demo.yaml").read_text())
    scale["dimensions"]["quality_measures"] = {
        "models": ["c3d_ssa"],
        "cells": [{"trained_on": "pvqa", "subset": "published"}],
    }
    plan = Plan.load(scale)
    (cell,) = (made for made in plan.cells if made.cell.model == "c3d_ssa")
    assert cell.predictions is not None
    options = QualityOptions.from_recipe(cell.predictions.recipe["predict"])
    assert options.components == 40 and "components" not in cell.predictions.recipe
    assert QualityOptions().components == COMPONENTS == 240
    made = manifest(plan, "quality_measures")
    printed = of_cell(made, made.cells[0], read_published(made.published))
    assert {one.metric: one.value for one in printed}["SROCC"] == 0.4180
