"""Configuration says no, once and clearly, and names the nearest that exists."""

import importlib
import re
import shutil
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from stp.core import named_modules
from stp.core.errors import ConfigurationError, StpError
from stp.core.fingerprint import digest
from stp.plan import checked_config, config, removed
from stp.plan.checked_config import CONFIG_FOLDER, entries, merge, read_yaml
from stp.plan.dataset import Counts, Release
from stp.plan.model import Model
from stp.plan.recipes import Recipes
from stp.plan.scale import Paths, folders
from stp.plan.suite import Suite, read_suites

DEMO = CONFIG_FOLDER / "demo.yaml"
HELD = yaml.safe_load(Path(__file__).with_name("held_plans.yaml").read_text())["keys"]
SCALES = ["demo", "sample", "paper"]


def demo(**changes):
    return merge(yaml.safe_load(DEMO.read_text()), changes)


def long_term(**case):
    """A scale with one case of long-term prediction."""
    return {"dimensions": {"long_term": {"models": ["persistence"], "cells": [case]}}}


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_loads(scale):
    loaded = config.load(CONFIG_FOLDER / f"{scale}.yaml")
    assert loaded.scale.scale == scale


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimensions": {"short_term": {"models": ["convlstn"]}}}, "convlstm"),
        ({"dimensions": {"short_term": {"datasets": ["kht"]}}}, "kth"),
        ({"models": {"simvp2": {}}}, "simvpv2"),
        ({"datasets": {"ensoo": {}}}, "enso"),
        ({"datasets": {"kth": {"release": "oficial"}}}, "official"),
        (long_term(trained_on="kht"), "kth"),
        (long_term(trained_on="kth", tested_on="ens"), "enso"),
        (long_term(trained_on="bridge", subset="extrapolate"), "extrapolation"),
        (long_term(trained_on="kth", setting={"horizn": 3}), "horizon"),
        ({"dimensions": {"longterm": {"models": ["persistence"]}}}, "long_term"),
        ({"metrics": {"lpip": {}}}, "lpips"),
        ({"metrics": {"lpips": {"availabel": True}}}, "available"),
        ({"seedz": [1]}, "seeds"),
        ({"models": {"convlstm": {"option": {}}}}, "options"),
        ({"datasets": {"kth": {"contex": 3}}}, "context"),
        ({"scale": "tables"}, "tables"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(changes, message):
    with pytest.raises(StpError, match=message):
        config.load(demo(**changes))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"datasets": {"kth": {"context": -1}}}, ["datasets.kth", "context", "-1"]),
        ({"datasets": {"kth": {"shape": [1, 64]}}}, ["datasets.kth", "shape"]),
        (long_term(trained_on="kth", setting={"horizon": 0}), ["horizon", "0"]),
        (
            long_term(trained_on="kth", tested_on="enso"),
            ["dimensions.long_term.cells.0", "enso", "[1, 24, 48]", "[1, 32, 32]"],
        ),
        ({"seeds": []}, ["seeds"]),
        ({"seeds": ["a"]}, ["seeds", "'a'"]),
        ({"bootstrap": {"resamples": 5}}, ["bootstrap.resamples", "5", "100"]),
        ({"scale": "my scale"}, ["scale", "my scale"]),
    ],
)
def test_values_out_of_range_name_the_key_the_value_and_the_expectation(changes, parts):
    with pytest.raises(StpError) as error:
        config.load(demo(**changes))
    for part in parts:
        assert part in str(error.value)


def people(models=("social_force",), **case):
    cells = [{"trained_on": "atlas_eth", "subset": "strict", **case}]
    wanted = {"atlas_transfer": {"models": list(models), "cells": cells}}
    return {"scale": "people", "suite": "atlas", "dimensions": wanted}


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (people(["convlstm"]), "convlstm .*atlas_eth .*tracks"),
        (people(subset="test"), "social_force on atlas_eth .*subset 'test'"),
        (people(), "social_force on atlas_eth .*train_subset 'all'"),
        ({**people(), "suite": "predbench"}, "atlas"),
        (
            demo(dimensions={"short_term": {"models": ["zanlungo"], "datasets": ["kth"]}}),
            "zanlungo .*kth .*frames",
        ),
    ],
)  # fmt: skip
def test_frames_and_tracks_are_not_mixed(scale, message):
    with pytest.raises(StpError, match=message):
        config.load(scale)


def test_released_parameters_and_models_without_any_need_no_calibration():
    config.load(people(variant="released"))
    config.load(people(["constant_velocity"]))


def test_a_scale_is_not_called_like_an_option():
    for name in ("-rf", "--help", ""):
        with pytest.raises(StpError, match="scale"):
            config.load(demo(scale=name))


def test_a_scale_that_comes_as_a_mapping_is_called_by_its_file():
    """Snakemake reads files of --configfile itself."""
    with pytest.raises(StpError, match=r"^mine\.yaml: .*seedz"):
        config.load({"scale": "x", "seedz": [1]}, where="mine.yaml")


def test_the_environment_wins_over_the_configured_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)
    monkeypatch.delenv("STP_RAW_DIR", raising=False)
    found = folders(Paths(store="elsewhere", raw="raw"))
    assert found["store"] == tmp_path / "store"
    assert found["raw"] == Path.cwd() / "raw"
    assert found["mirror"] is None


def test_every_table_row_of_the_evaluation_exists():
    loaded = config.load(DEMO)
    for row in loaded.suite.datasets.values():
        assert row in loaded.suite.columns
        assert row in loaded.suite.also


def test_a_column_names_its_threshold_as_a_number():
    mine = {
        "metrics": [{"convention": "csi.mean", "threshold": 16}],
        "title": "Mine",
        "shape": [1, 8, 8],
        "context": 2,
        "horizon": 2,
        "release": "a",
        "releases": {"a": {"source": "own"}},
    }
    scale = {"scale": "t", "dimensions": {}, "datasets": {"mine": mine}}
    assert Recipes(config.load(scale)).conventions("mine") == ["csi.mean"]
    scale["datasets"]["mine"]["metrics"][0]["threshold"] = "low"
    with pytest.raises(StpError, match=r"metrics\.0\.threshold .*'low'"):
        Recipes(config.load(scale)).conventions("mine")


@pytest.mark.parametrize("name", ["../official", "a/b", "", ".hidden", "a b", "$(id)", "-rf"])
@pytest.mark.parametrize("kind", ["releases", "subsets"])
def test_names_that_become_folders_lead_nowhere_else(kind: str, name: str) -> None:
    content = {"releases": {"source": "official"}, "subsets": {"title": "x"}}[kind]
    kth = {kind: {name: content}}
    scale = {"scale": "x", "suite": "predbench", "dimensions": {}, "datasets": {"kth": kth}}
    with pytest.raises(StpError, match=r"datasets\.kth"):
        config.load(scale)


def test_a_suite_is_a_folder(tmp_path):
    folder = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, folder)
    file = folder / "suites" / "toys.yaml"
    file.write_text("title: Toys\n")
    with pytest.raises(StpError) as caught:
        config.load(demo(), folder)
    assert str(file) in caught.value.what and "suite.yaml" in caught.value.remedy


def test_a_scale_without_a_suite_is_of_that_of_its_dimensions():
    scale = people(["constant_velocity"])
    del scale["suite"]
    assert config.load(scale).scale.suite == "atlas"
    assert config.load({"scale": "x", "dimensions": {}}).scale.suite == "predbench"


def test_subsets_may_have_hyphens_and_releases_the_names_of_others():
    loaded = config.load(CONFIG_FOLDER / "demo.yaml")
    assert "atlas-paper" in loaded.datasets["atlas_eth"].subsets


@pytest.mark.parametrize("variable", ["STORE_DIR", "RAW_DIR", "RAW_MIRROR", "WEIGHTS_DIR"])
def test_a_folder_that_is_a_file_is_refused(monkeypatch, tmp_path, variable):
    (tmp_path / "file").touch()
    monkeypatch.setenv(f"STP_{variable}", str(tmp_path / "new" / "folder"))
    folders(Paths())
    for path in (tmp_path / "file", tmp_path / "file" / "store"):
        monkeypatch.setenv(f"STP_{variable}", str(path))
        with pytest.raises(StpError, match=rf"{path} \(STP_{variable}"):
            folders(Paths())


def test_a_store_with_braces_is_refused(monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", "/store/{seed}")
    with pytest.raises(StpError, match="STP_STORE_DIR"):
        folders(Paths())


def test_an_official_release_gives_what_is_printed_unless_a_difference_is_explained():
    counts = Counts(
        train=90,
        val=10,
        test=20,
        published={"train": 100, "val": None, "test": 21},
        explained={"train": "ten clips are too short"},
    )
    assert counts.official == {"train": 90, "test": 21}
    estimated = counts.model_copy(update={"estimated": ("test",)})
    assert estimated.official == {"train": 90}


@pytest.mark.parametrize("pattern", removed.FILES)
def test_a_removed_file_leads_to_what_replaces_it(pattern: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(CONFIG_FOLDER, tmp_path / "config"))
    path = folder / pattern.replace("*", "scv")
    path.parent.mkdir(exist_ok=True)
    path.write_text("[]")
    with pytest.raises(ConfigurationError, match=re.escape(str(path))) as error:
        config.load(DEMO, folder)
    assert error.value.remedy == removed.FILES[pattern]


@pytest.mark.parametrize(("kind", "key"), removed.KEYS)
def test_a_removed_key_leads_to_what_replaces_it(kind: str, key: str) -> None:
    (schema,) = (schema for schema in (Model, Suite) if schema.__name__ == kind)
    first, _, nested = key.partition(".")
    content = {first: [{nested: "x"}] if nested else "x"}
    with pytest.raises(ConfigurationError, match=rf"s.yaml: {first}\S*{nested}") as error:
        checked_config.check(schema, content, "s.yaml")
    assert error.value.remedy == removed.KEYS[kind, key]


@pytest.mark.parametrize("name", removed.GENERATORS)
def test_the_old_name_of_a_generator_leads_to_its_name(name: str) -> None:
    release = {"source": "synthetic", "generator": name}
    with pytest.raises(ConfigurationError, match=f"generator .*'{name}'") as error:
        checked_config.check(Release, release, "d.yaml")
    new = removed.GENERATORS[name]
    assert error.value.expected.startswith(new)
    assert checked_config.check(Release, {**release, "generator": new}, "d.yaml").generator == new
    assert named_modules.generator(new) in named_modules.generators()


@pytest.mark.parametrize(("key", "value"), removed.VALUES)
def test_a_removed_value_of_a_readers_option_leads_to_what_replaces_it(key: str, value: str):
    options = {key: value} if key == "format" else {"splits": {key: value}}
    with pytest.raises(ConfigurationError, match=f"prepare .*{value}") as error:
        checked_config.check(Release, {"source": "own", "prepare": options}, "d.yaml")
    assert error.value.expected.startswith(removed.VALUES[key, value])


def test_every_suite_says_where_paper_and_code_differ_and_names_what_there_is() -> None:
    known = {
        f"{name}.{choice}"
        for name, path in entries("conventions").items()
        for choice in read_yaml(path)["conventions"]
    }
    for name, suite in read_suites().items():
        assert suite.deviations, name
        for point in suite.deviations:
            text = f"{point.paper} {point.code} {point.strict}"
            assert set(re.findall(r"`([a-z0-9_]+\.[a-z0-9_]+)`", text)) <= known, (
                name,
                point.about,
            )
            assert set(point.dimensions) <= set(suite.dimensions), (name, point.about)


LIMITS = re.compile(r"\b(?:ge|gt|le|lt|min_length|max_length|pattern)=[^,)]+")


def rules(cls: type[BaseModel]) -> dict[str, list[str]]:
    """Default and limits of each field of a class."""
    found = {}
    for name, field in cls.model_fields.items():
        default = field.default if field.default_factory is None else field.default_factory()
        limits = LIMITS.findall(f"{field.annotation!r} {field.metadata!r}")
        found[name] = ["" if field.is_required() else repr(default), *limits]
    return found


@pytest.mark.parametrize("name", HELD)
def test_defaults_and_limits_of_keys_are_held(name: str) -> None:
    module = importlib.import_module(name)
    classes = {
        key: rules(value)
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == name
    }
    assert digest(classes) == HELD[name], classes
