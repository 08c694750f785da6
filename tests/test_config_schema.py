"""Every key of the configuration has a description; schemas for editors say what `stp` checks."""

import copy
import json
from functools import cache

import pytest
import yaml
from jsonschema import Draft202012Validator

from stp.core.errors import StpError
from stp.plan import config
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.upkeep import config_schema
from stp.upkeep.config_schema import (
    KINDS,
    SEVERAL,
    SUFFIX,
    associations,
    kind_of,
    page,
    write,
)

schema = cache(config_schema.schema)
SCALES = {"demo", "atlas", "chaosbench"}


def files(name: str) -> list:
    found = sorted(CONFIG_FOLDER.glob(KINDS[name].files))
    if name == "scale":
        found = [path for path in found if path.stem in SCALES]
    return found or [CONFIG_FOLDER / "site.example.yaml"]


@pytest.mark.parametrize("name", KINDS)
def test_every_key_says_what_it_means(name):
    made = schema(name)
    for part in (kind_of(made), *made.get("$defs", {}).values()):
        for key, about in part.get("properties", {}).items():
            assert len(about["description"]) > 5, (part["title"], key)


@pytest.mark.parametrize("name", KINDS)
def test_all_files_hold_and_an_unknown_key_does_not(name):
    checked = Draft202012Validator(schema(name))
    for path in files(name):
        content = read_yaml(path)
        if name == "site":  # what is commented out leaves its key without a value
            content = {key: value for key, value in content.items() if value is not None}
        if name == "human_study":
            content = {key: value for key, value in content.items() if key != "scales"}
        assert not [error.message for error in checked.iter_errors(content)], path
        wrong = copy.deepcopy(content)
        (next(iter(wrong.values())) if name in SEVERAL else wrong)["widht"] = 3
        assert [e for e in checked.iter_errors(wrong) if "widht" in e.message], path


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"runtime": {"devise": "cpu"}}, "devise"),
        ({"datasets": {"kth": {"contxt": 3}}}, "contxt"),
        ({"models": {"tau": {"size": {"gmac": 3}}}}, "gmac"),
        ({"train": {"batch_size": "many"}}, "many"),
    ],
)
def test_parts_of_a_scale_file_are_checked_as_well(changed, wrong):
    content = read_yaml(CONFIG_FOLDER / "demo.yaml") | changed
    errors = list(Draft202012Validator(schema("scale")).iter_errors(content))
    assert len(errors) == 1 and wrong in errors[0].message


def test_an_error_says_what_the_key_means():
    demo = read_yaml(CONFIG_FOLDER / "demo.yaml")
    with pytest.raises(StpError, match=r"runtime\.devise(.|\n)*device"):
        config.load(demo | {"runtime": {"devise": "cpu"}})
    with pytest.raises(StpError, match=r"dimensions is missing(.|\n)*evaluations"):
        config.load({key: value for key, value in demo.items() if key != "dimensions"})


def test_schemas_are_written_with_what_editors_are_told(tmp_path):
    _, told = write(tmp_path)
    assert json.loads(told) == {"yaml.schemas": associations(tmp_path)}
    for name in KINDS:
        written = yaml.safe_load((tmp_path / f"{name}{SUFFIX}").read_text())
        Draft202012Validator.check_schema(written)


def test_the_page_is_that_of_the_classes():
    text = (CONFIG_FOLDER.parent / "docs" / "configuration.md").read_text()
    assert text == page(), "`stp list keys --page docs/configuration.md` writes it"
