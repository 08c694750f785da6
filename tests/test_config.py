"""Configuration says no, once and clearly, and names the nearest that exists."""

import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from stp.core import fingerprint, named_modules
from stp.core.errors import ConfigurationError, StpError
from stp.plan import checked_config, config, removed
from stp.plan.checked_config import CONFIG_FOLDER, entries, merge, read_yaml
from stp.plan.dataset import Counts, Release
from stp.plan.model import Model
from stp.plan.recipes import Recipes
from stp.plan.scale import Paths, folders
from stp.plan.suite import Suite, read_suites

DEMO = CONFIG_FOLDER / "demo.yaml"
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
        ({"dimensions": {"short_term": {"models": ["convlstn"]}}}, "did you mean convlstm?"),
        ({"dimensions": {"short_term": {"datasets": ["kht"]}}}, "did you mean kth?"),
        ({"models": {"simvp2": {}}}, "did you mean simvpv2?"),
        ({"datasets": {"ensoo": {}}}, "did you mean enso?"),
        ({"datasets": {"kth": {"release": "oficial"}}}, "did you mean official?"),
        (long_term(trained_on="kht"), "did you mean kth?"),
        (long_term(trained_on="kth", tested_on="ens"), "did you mean enso?"),
        (long_term(trained_on="bridge", subset="extrapolate"), "did you mean extrapolation?"),
        (long_term(trained_on="kth", setting={"horizn": 3}), "did you mean horizon?"),
        ({"dimensions": {"longterm": {"models": ["persistence"]}}}, "long_term"),
        ({"metrics": {"lpip": {}}}, "did you mean lpips?"),
        ({"metrics": {"lpips": {"availabel": True}}}, "did you mean available?"),
        ({"seedz": [1]}, "did you mean seeds?"),
        ({"models": {"convlstm": {"option": {}}}}, "did you mean options?"),
        ({"datasets": {"kth": {"contex": 3}}}, "did you mean context?"),
        ({"scale": "tables"}, "tables is reserved, as are main, plan"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(changes, message):
    with pytest.raises(StpError, match=message.replace("?", r"\?")):
        config.load(demo(**changes))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"datasets": {"kth": {"context": -1}}}, ["datasets.kth", "context", "-1", "0 or more"]),
        ({"datasets": {"kth": {"shape": [1, 64]}}}, ["datasets.kth", "shape"]),
        (long_term(trained_on="kth", setting={"horizon": 0}), ["horizon", "0", "1 or more"]),
        (
            long_term(trained_on="kth", tested_on="enso"),
            [
                "dimensions.long_term.cells.0",
                "enso has frames of C, H, W = [1, 24, 48]",
                "[1, 32, 32]",
            ],
        ),
        ({"seeds": []}, ["seeds", "at least 1"]),
        ({"seeds": ["a"]}, ["seeds", "'a'", "whole number"]),
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
        (people(["convlstm"]), "convlstm predicts frames, and atlas_eth has tracks"),
        (people(subset="test"), "social_force on atlas_eth has subset 'test'"),
        (people(), "social_force on atlas_eth has train_subset 'all'"),
        ({**people(), "suite": "predbench"}, "is a dimension of the suite atlas"),
        (
            demo(dimensions={"short_term": {"models": ["zanlungo"], "datasets": ["kth"]}}),
            "zanlungo predicts tracks, and kth has frames",
        ),
    ],
)  # fmt: skip
def test_frames_and_tracks_are_not_mixed(scale, message):
    with pytest.raises(StpError, match=message):
        config.load(scale)


def test_released_parameters_and_models_without_any_need_no_calibration():
    config.load(people(variant="released"))
    config.load(people(["constant_velocity"]))


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(StpError, match=r"nowhere\.yaml"):
        config.load(tmp_path / "nowhere.yaml")
    (tmp_path / "broken.yaml").write_text("a: [1,\nb: {")
    with pytest.raises(StpError, match=r"broken\.yaml, line 3 is not YAML"):
        config.load(tmp_path / "broken.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(StpError, match=r"pipe\.yaml"):
        config.load(tmp_path / "pipe.yaml")


@pytest.mark.parametrize("text", ["9" * 5000, "0x" + "f" * 5000, "-9223372036854775809"])
def test_a_whole_number_of_too_many_digits_is_named_with_its_line(text, tmp_path):
    path = tmp_path / "long.yaml"
    path.write_text(f"scale: x\nseeds: [{text}]\n")
    with pytest.raises(StpError, match=r"long\.yaml, line 2 .* number") as caught:
        config.load(path)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("text", ["!!float x", "!!bool x", "!!int x", "!!timestamp x"])
def test_a_tag_that_does_not_fit_is_named(text, tmp_path):
    (tmp_path / "tag.yaml").write_text(f"scale: {text}\n")
    with pytest.raises(StpError, match=r"tag\.yaml"):
        read_yaml(tmp_path / "tag.yaml")


def test_a_scale_is_not_called_like_an_option():
    for name in ("-rf", "--help", ""):
        with pytest.raises(StpError, match="scale is"):
            config.load(demo(scale=name))


def test_a_scale_that_comes_as_a_mapping_is_called_by_its_file():
    """Snakemake reads files of --configfile itself."""
    with pytest.raises(StpError, match=r"^mine\.yaml: unknown key seedz"):
        config.load({"scale": "x", "seedz": [1]}, where="mine.yaml")


def test_keys_of_a_merged_mapping_may_be_overridden(tmp_path):
    path = tmp_path / "merged.yaml"
    path.write_text("a: &a {b: 1, c: 2}\nd: &d\n  <<: *a\n  b: 3\ne:\n  <<: *d\n  c: 4\n")
    assert read_yaml(path) == {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}, "e": {"b": 3, "c": 4}}


def test_merge_is_deep_for_mappings_and_replaces_the_rest():
    base = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    assert merge(base, {"a": {"y": [3]}}, {"b": {"c": 2}}) == {
        "a": {"x": 1, "y": [3]},
        "b": {"c": 2},
    }
    assert base["a"] == {"x": 1, "y": [1, 2]}


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
    with pytest.raises(StpError, match=r"metrics\.0\.threshold is 'low'"):
        Recipes(config.load(scale)).conventions("mine")


@pytest.mark.parametrize("name", ["../official", "a/b", "", ".hidden", "a b", "$(id)", "-rf"])
@pytest.mark.parametrize("kind", ["releases", "subsets"])
def test_names_that_become_folders_lead_nowhere_else(kind: str, name: str) -> None:
    content = {"releases": {"source": "official"}, "subsets": {"title": "x"}}[kind]
    kth = {kind: {name: content}}
    scale = {"scale": "x", "suite": "predbench", "dimensions": {}, "datasets": {"kth": kth}}
    with pytest.raises(StpError, match=r"datasets\.kth") as caught:
        config.load(scale)
    assert "letters, digits" in caught.value.expected


HOSTILE = [
    "a$(id)b",
    "a b",
    "a'b",
    'a"b',
    "a;b",
    "a/b",
    "..",
    "A",
    "ä",
    "a-b",
    "a\nb",
    "",
    "-rf",
    "_a",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_dataset_of_the_scale_file_has_a_plain_name(name):
    """`a$(id)b` was run by a shell."""
    own = merge(
        yaml.safe_load((CONFIG_FOLDER / "datasets" / "kth.yaml").read_text()), {"reader": "kth"}
    )
    with pytest.raises(StpError, match=r"the scale file: datasets.*name of a dataset(.|\n)*a-z"):
        config.load(demo(datasets={name: own}))


@pytest.mark.parametrize("what", ["datasets", "models", "conventions", "suites"])
def test_a_file_of_the_configuration_has_a_plain_name(what, tmp_path):
    folder = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, folder)
    first = next(iter(entries(what, folder).values()))
    path = folder / what / "a$(id)b.yaml"
    if what == "suites":
        path = path.with_suffix("") / first.name
        path.parent.mkdir()
    shutil.copy(first, path)
    with pytest.raises(StpError) as caught:
        config.load(demo(), folder)
    assert f"{path}: 'a$(id)b' is the name of a" in str(caught.value)


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


@pytest.mark.parametrize(
    ("file", "at"),
    [
        ("models/convlstm.yaml", ("variants",)),
        ("datasets/kth.yaml", ("subsets",)),
        ("datasets/kth.yaml", ("train_subsets",)),
        ("datasets/kth.yaml", ("releases",)),
        ("datasets/kth.yaml", ("reader",)),
        ("datasets/kth.yaml", ("releases", "synthetic", "generator")),
        ("conventions/mse.yaml", ("conventions",)),
        ("suites/predbench/suite.yaml", ("dimensions",)),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value,
)
def test_a_name_inside_a_file_is_plain(file, at, tmp_path):
    name = "a$(id)b"
    folder = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, folder)
    path = folder / file
    content = yaml.safe_load(path.read_text())
    *outer, key = at
    place = content
    for one in outer:
        place = place[one]
    known = place.get(key)
    if key in ("reader", "generator"):
        place[key] = name
    else:
        empty = {"title": "x"} if "subsets" in key or key == "variants" else "x"
        place[key] = {**(known or {}), name: next(iter((known or {}).values()), empty)}
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(StpError) as caught:
        config.load(demo(), folder)
    said = str(caught.value)
    assert str(path) in said or "datasets.kth" in said
    assert key in said or name in said


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
        with pytest.raises(StpError, match=rf"{path} \(STP_{variable}(.|\n)*is a file"):
            folders(Paths())


def test_a_store_with_braces_is_refused(monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", "/store/{seed}")
    with pytest.raises(StpError, match=r"STP_STORE_DIR(.|\n)*braces"):
        folders(Paths())


def test_a_parsed_configuration_is_cached_for_other_processes(tmp_path, monkeypatch):
    """Of the project alone; an edit with the same length and time is noticed."""
    monkeypatch.setattr(checked_config, "CONFIG_FOLDER", tmp_path / "config")
    cached = fingerprint.SourceCache(tmp_path, "configuration")
    monkeypatch.setattr(checked_config, "_cache", lambda: cached)
    parsed = []
    value = checked_config._value
    monkeypatch.setattr(
        checked_config, "_value", lambda content: parsed.append(content) or value(content)
    )
    (tmp_path / "config").mkdir()
    inside, outside = tmp_path / "config" / "a.yaml", tmp_path / "b.yaml"
    for path in (inside, outside):
        path.write_text("{a: 2024-01-01, 1: .nan, b: [1, 1.0, true, null]}\n")

    def read_anew() -> list[str]:
        """As another process reads both."""
        nonlocal cached
        checked_config._parsed.cache_clear()
        cached = fingerprint.SourceCache(tmp_path, "configuration")
        values = [repr(checked_config.read_yaml(path)) for path in (inside, outside)]
        checked_config.save_cache()
        return values

    first = read_anew()
    assert first[0] == first[1] == "{'a': '2024-01-01', 1: nan, 'b': [1, 1.0, True, None]}"
    assert len(parsed) == 2
    assert read_anew() == first
    assert len(parsed) == 3, "what is elsewhere is parsed by each"
    before = inside.stat()
    inside.write_text(inside.read_text().replace("2024", "2025"))
    os.utime(inside, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "2025-01-01" in read_anew()[0]
    checked_config._parsed.cache_clear()


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
    with pytest.raises(ConfigurationError, match=rf"s.yaml: {first}\S*{nested} was") as error:
        checked_config.check(schema, content, "s.yaml")
    assert error.value.remedy == removed.KEYS[kind, key]


@pytest.mark.parametrize("name", removed.GENERATORS)
def test_the_old_name_of_a_generator_leads_to_its_name(name: str) -> None:
    release = {"source": "synthetic", "generator": name}
    with pytest.raises(ConfigurationError, match=f"generator is '{name}'") as error:
        checked_config.check(Release, release, "d.yaml")
    new = removed.GENERATORS[name]
    assert error.value.expected.startswith(new)
    assert checked_config.check(Release, {**release, "generator": new}, "d.yaml").generator == new
    assert named_modules.generator(new) in named_modules.generators()


@pytest.mark.parametrize(("key", "value"), removed.VALUES)
def test_a_removed_value_of_a_readers_option_leads_to_what_replaces_it(key: str, value: str):
    options = {key: value} if key == "format" else {"splits": {key: value}}
    with pytest.raises(ConfigurationError, match=f"prepare is .*{value}") as error:
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
