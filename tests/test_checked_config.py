"""Files of the configuration: damaged ones are named, names are plain, parsed ones are kept."""

import os
import shutil

import pytest
import yaml
from test_config import demo

from stp.core import fingerprint
from stp.core.errors import StpError
from stp.plan import checked_config, config
from stp.plan.checked_config import CONFIG_FOLDER, entries, merge, read_yaml


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(StpError, match=r"nowhere\.yaml"):
        config.load(tmp_path / "nowhere.yaml")
    (tmp_path / "broken.yaml").write_text("a: [1,\nb: {")
    with pytest.raises(StpError, match=r"broken\.yaml, line 3"):
        config.load(tmp_path / "broken.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(StpError, match=r"pipe\.yaml"):
        config.load(tmp_path / "pipe.yaml")


@pytest.mark.parametrize("text", ["9" * 5000, "0x" + "f" * 5000, "-9223372036854775809"])
def test_a_whole_number_of_too_many_digits_is_named_with_its_line(text, tmp_path):
    path = tmp_path / "long.yaml"
    path.write_text(f"scale: x\nseeds: [{text}]\n")
    with pytest.raises(StpError, match=r"long\.yaml, line 2") as caught:
        config.load(path)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("text", ["!!float x", "!!bool x", "!!int x", "!!timestamp x"])
def test_a_tag_that_does_not_fit_is_named(text, tmp_path):
    (tmp_path / "tag.yaml").write_text(f"scale: {text}\n")
    with pytest.raises(StpError, match=r"tag\.yaml"):
        read_yaml(tmp_path / "tag.yaml")


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


HOSTILE = [
    *("a$(id)b", "a b", "a'b", 'a"b', "a;b", "a/b", "..", "A", "ä", "a-b", "a\nb", "", "-rf", "_a")
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_dataset_of_the_scale_file_has_a_plain_name(name):
    """`a$(id)b` was run by a shell."""
    own = merge(
        yaml.safe_load((CONFIG_FOLDER / "datasets" / "kth.yaml").read_text()), {"reader": "kth"}
    )
    with pytest.raises(StpError, match=r"datasets.*name"):
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
    assert f"{path}: 'a$(id)b'" in str(caught.value)


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
        checked_config._parse_to_pickle.cache_clear()
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
    checked_config._parse_to_pickle.cache_clear()
