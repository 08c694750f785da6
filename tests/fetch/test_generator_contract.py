"""The contract of every generator: equal options give equal files, and options are checked."""

import importlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from kills import contents

from stp.core import named_modules
from stp.core.errors import ConfigurationError
from stp.fetch.raw import run_generator

SPLITS = dict.fromkeys(("train", "val", "test"), 1)
WORLD = {"degrees": 45, "levels": [500], "first_year": 2020, "variables": ["z"]}
SMALL: dict[str, dict[str, Any]] = {
    "atlas.crowd": {"format": "ewap", "files": ["a.txt"], "goals": [[0, 2], [20, 9]], "waves": 1},
    "atlas.situation": {"situation": "chasing", "path": "a.ndjson", "times": 2},
    "bair": {"train": 1, "test": 1, "frames": 2, "size": 8},
    "bridge": {
        **{"trajectories": 2, "elsewhere": 1, "cameras": 1, "frames": 3, "long_frames": 4},
        **{"height": 16, "width": 16},
    },
    "caltech": {"sets": [6], "videos": 1, "frames": 2, "height": 16, "width": 24},
    "chaosbench": {**WORLD, "years": [2020], "days": 2},
    "chaosbench.centre": {**WORLD, "centre": "ukmo", "starts": ["2020-01-01", "2020-01-02"]},
    "chaosbench.centres": {
        **{**WORLD, "starts": ["2020-01-01", "2020-01-02"]},
        "centres": {"ukmo": {}, "cma": {"members": 2}},
    },
    "chaosbench.learned": {
        **{**WORLD, "model": "panguweather", "lacks": []},
        "starts": ["2020-01-01", "2020-12-31"],
    },
    "cityscapes": {"snippets": SPLITS, "height": 8, "width": 16},
    "enso": {"cmip6_models": 1, "cmip6_years": 1, "cmip5_models": 1, "cmip5_years": 1},
    "hmdb51": {"videos": 3, "frames": 2, "height": 16},
    "human36m": {
        **{"actors": [1], "performances": ["Walking"], "cameras": 1, "frames": 71, "every": 20},
        "size": [16, 16],
    },
    "kinetics400": {"videos": 6, "missing": 2, "frames": 2, "height": 16},
    "kitti": {"frames": {"train": [2], "val": [2], "test": [2]}, "height": 8, "width": 24},
    "kth": {"persons": [1], "actions": ["walking"], "scenarios": [1], "frames": 8, "sequences": 1},
    "moving_mnist": {"test_images": 20, "side": 12},
    "nuscenes": {"logs": SPLITS, "scenes": 1, "frames": 2, "height": 18, "width": 32},
    "pvqa": {"videos": 20, "sizes": 1, "raters": 8, "random": 2, "ratings": 4, "splits": 1},
    "robonet": {
        **{"robots": ["google"], "train": 1, "val": 1, "test": 1, "shrink": 8},
        **{"most_frames": 2, "most_cameras": 1},
    },
    "scv": {"scenario": "move_unit_to_border", "size": 16, "train": 1, "valid": 1, "test": 1},
    "sevir": {"years": [2018], "events": 1, "size": 8},
    "taxibj": {"days": [1, 1, 1, 1], "grid": [4, 4]},
    "traffic4cast": {"days": {**SPLITS, "moscow": 1}, "cities": 1, "grid": [8, 8]},
    "weatherbench": {
        **{"resolution": 45, "years": [2015], "days": 1, "levels": [500]},
        "variables": ["geopotential"],
    },
}


def test_every_generator_has_a_case() -> None:
    assert {named_modules.generator(name) for name in SMALL} == set(named_modules.generators())


@pytest.mark.parametrize("name", SMALL)
def test_files_depend_on_the_options_and_the_seed_alone(name: str, tmp_path: Path) -> None:
    for folder, seed in (("one", {}), ("same", {}), ("other", {"seed": 1})):
        run_generator(name, {**SMALL[name], **seed}, tmp_path / folder)
    one, same, other = (contents(tmp_path / folder) for folder in ("one", "same", "other"))
    assert one == same != other


@pytest.mark.parametrize("name", SMALL)
def test_unknown_options_and_values_of_another_type_are_named(name: str, tmp_path: Path) -> None:
    module = importlib.import_module(named_modules.generator(name))
    options = [
        field.name
        for key, value in vars(module).items()
        if key.endswith("Options") and value.__module__ == module.__name__
        for field in fields(value)
    ]
    for option in (*options, "nonsense"):
        with pytest.raises(ConfigurationError, match=option):
            run_generator(name, {**SMALL[name], option: [["nonsense"]]}, tmp_path / "raw")
    assert not list(tmp_path.iterdir())
