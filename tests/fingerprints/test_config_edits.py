"""Edits of the configuration, as data, and what each may reach: see config_edits.yaml."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from reach import (
    ROOT,
    Expectations,
    Product,
    Snapshot,
    changed,
    differences,
    downstream,
    look,
    read,
)

from stp.core.fingerprint import digest
from stp.plan import config, suite
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.plan.manifest import manifest_text
from stp.plan.manifests import manifest

FILE = read("config_edits.yaml")
PATHS = ("data", "models", "predictions", "features", "scores")
"""What the manifest says about a cell that follows from fingerprints."""


class Settings:
    """A copy of config/ to edit; `look` plans with it, manifests included."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "config", folder)
        self.files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.restore()
        self.before = self.look()
        self.restore(official=True)
        self.before_official = self.look()

    def restore(self, official: bool = False) -> None:
        """Undo all edits; with `official`, use the official releases of all datasets."""
        for path, content in self.files.items():
            if path.read_bytes() != content:
                path.write_bytes(content)
        self.scale: dict[str, Any] = read("everything.yaml")
        if official:
            own = self.scale["datasets"]["mine"]  # stands in the scale file alone
            self.scale["datasets"] = {"mine": own}

    def edit(self, file: str, at: list[Any], edit: dict[str, Any]) -> None:
        """Change one place of a file."""
        if file == "scale":
            self.scale = _edited(self.scale, at, edit)
        else:
            path = self.folder / file
            content = _edited(yaml.safe_load(path.read_text()), at, edit)
            path.write_text(yaml.safe_dump(content, sort_keys=False))

    def look(self) -> Snapshot:
        """Plan; the tables are known by the whole text of their manifest."""
        plan = Plan(config.load(self.scale))
        seen = look(plan)
        whole = json.loads(manifest_text(manifest(plan, "short_term")))
        seen.paths[Product("tables")] = digest(whole)
        for cell in whole["cells"]:
            for name in PATHS:
                cell.pop(name, None)
        for raw in whole["raw"].values():
            del raw["lock"], raw["data"]
        seen.own[Product("tables")] = digest(whole)
        return seen


def _edited(value: Any, at: list[Any], edit: dict[str, Any]) -> Any:
    if at:
        inner = _edited(value[at[0]], at[1:], edit)
        if isinstance(value, list):
            return [inner if i == at[0] else item for i, item in enumerate(value)]
        return {**value, at[0]: inner}
    if "to" in edit:
        assert value != edit["to"] or isinstance(value, float)
        return edit["to"]
    if "remove" in edit:
        assert edit["remove"] in value
        return [item for item in value if item != edit["remove"]]
    return [*value, edit["add"]] if isinstance(value, list) else merge(value, edit["add"])


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """All reading of configuration goes to the copy."""
    folder = tmp_path_factory.mktemp("settings") / "config"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "CONFIG_FOLDER", folder)
        patch.setattr(suite, "CONFIG_FOLDER", folder)
        patch.setattr(config, "load", partial(config.load, folder=folder))
        yield Settings(folder)


@pytest.fixture
def settings(copy: Settings) -> Iterator[Settings]:
    """The copy without any edit."""
    copy.restore()
    yield copy
    copy.restore()


def cases() -> list[Any]:
    """All edits; a finding is expected to fail until it is mended, and to be removed then."""
    found = []
    for entry in FILE["edits"]:
        marks = [pytest.mark.long(part="reruns")] if entry.get("long") else []
        if "finding" in entry:
            marks.append(pytest.mark.xfail(reason=entry["finding"], strict=True))
        found.append(pytest.param(entry, id=entry["what"], marks=marks))
    return found


@pytest.mark.parametrize("entry", cases())
def test_an_edit_of_the_configuration_reaches_what_is_expected(settings: Settings, entry: Any):
    before = settings.before
    if entry.get("official"):
        settings.restore(official=True)
        before = settings.before_official
    settings.edit(entry["file"], entry.get("at", []), entry)
    after = settings.look()
    direct = Expectations(FILE["groups"], before.paths).direct(entry["reaches"])
    report = [
        differences(changed(before.own, after.own), direct),
        differences(changed(before.paths, after.paths), downstream(direct, before.paths)),
    ]
    assert report == ["", ""], "\n".join(report)


def test_a_comment_and_another_order_of_keys_reach_nothing(settings: Settings):
    for path in settings.folder.rglob("*.yaml"):
        content = yaml.safe_load(path.read_text())
        if path.name != "suite.yaml":  # the order of columns is that of the table
            path.write_text("# another comment\n" + yaml.safe_dump(content, sort_keys=True))
    after = settings.look()
    assert differences(changed(settings.before.paths, after.paths), set()) == ""


def test_a_published_value_reaches_the_tables_only(settings: Settings):
    with (settings.folder / "suites" / "predbench" / "published.csv").open("a") as file:
        file.write("motion,short_term,ConvLSTM,KTH,KTH,,,,,,SSIM,0.5,0.5,\n")
    after = settings.look()
    assert changed(settings.before.paths, after.paths) == {Product("tables")}


def test_another_seed_has_new_cells_and_leaves_the_others_alone(settings: Settings):
    settings.scale["seeds"] = [0, 1]
    after = settings.look()
    new = {
        Product(stage, dataset, model, "seed-1")
        for stage in ("train", "predict", "score")
        for dataset in ("moving_mnist", "kth", "enso")
        for model in FILE["groups"]["sgd"]
    }
    assert changed(settings.before.paths, after.paths) == {*new, Product("tables")}


@pytest.mark.parametrize(("key", "name"), [("datasets", "sevir"), ("models", "tau")])
def test_another_dataset_or_model_leaves_the_others_alone(settings: Settings, key: str, name: str):
    wanted = settings.scale["dimensions"]["short_term"][key]
    wanted[:] = [other for other in wanted if other != name]
    before = settings.look()
    wanted.append(name)
    after = settings.look()
    assert len(after.paths) > len(before.paths)
    reached = changed(before.paths, after.paths)
    assert {product for product in reached if product in before.paths} == {Product("tables")}
    assert all(name in product for product in reached - {Product("tables")})
