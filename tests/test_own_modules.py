"""Modules of a user's own, in the folder of a project and in an installed package."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stp.models
from stp import cli
from stp.core import fingerprint, project
from stp.core.errors import StpError
from stp.core.project import MARK
from stp.models.create import create
from stp.plan import checked_config, named_class
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.model import Model
from stp.plan.model_options import check_model_options
from stp.run import readable_traceback

MODEL = '''\
"""Repeats the latest frame, darker."""
from stp.models.darkness import DARKNESS
from stp.models.model import ForecastModel


class Model(ForecastModel):
    def __init__(self, shape, context, horizon, *, power: int = 1):
        super().__init__(context)
        self.power = power

    def forward(self, frames, horizon):
        return frames[:, -1:].repeat(1, horizon, 1, 1, 1) * DARKNESS**self.power
'''
LAST = """\
from torch import nn

from nets.layers import FACTOR


class Last(nn.Module):
    def forward(self, frames):
        return FACTOR * frames[:, -1:]
"""
METRIC = '''\
"""Errors of the darkest values."""
from stp.metrics.mse import mse as darkest
'''
ENTRY = "title: {}\nreference: a test\nfit: none\n"
CONVENTIONS = """\
title: Darkness
unit: "1"
higher_is_better: false
conventions:
  darkest: {about: as mse.pixel_mean, function: darkest, over_pixels: mean}
"""
POINTS = "[stp.extensions]\nlab = lab\n"
EDITS = """
import yaml
from pathlib import Path
from stp.models.create import create
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.plan.metric import read_convention
from stp.score.conventions import build
from stp.train import pretrained  # imports packages before and after

TINY = yaml.safe_load(Path("tiny.yaml").read_text())
NAMES = ["persistence", "darker", "theirs", "outside"]
SHORT = {"short_term": {"models": NAMES, "datasets": ["moving_mnist"]}}

def scores():
    made = Plan(config.load(merge(TINY, {"dimensions": SHORT}))).cells
    return {one.cell.model: (one.scores.code.modules, one.scores.fingerprint) for one in made}

def changed(path, old, new):
    before, text = scores(), Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))
    now = scores()
    return [name for name in now if now[name][1] != before[name][1]]

modules = {name: of for made in Plan(config.load(merge(TINY, {"dimensions": SHORT}))).cells
           for name, of in made.predictions.code.modules.items()}
assert modules["stp.models.darker"] != "missing", modules
print(changed("modules/models/darker.py", "the latest", "the last"))
print(changed("modules/models/darker.py", "-1:", "-2:-1"))
print(changed("modules/models/darkness.py", "0.5", "0.25"))
print(changed(LAB / "modules/models/theirs.py", "return 0 * ", "return 0.1 * "))
print(changed(LAB.parent / "nets/layers.py", "1.0", "1.5"))
model = create({"model": "darker", "options": {"power": 2}, "shape": (1, 8, 8), "context": 2,
                "horizon": 3})
assert model.power == 2
metric, convention = read_convention("darkest.darkest", "a test")
assert metric.title == "Darkness"
made = build("darkest.darkest", convention.definition)
assert made == build("mse.pixel_mean", read_convention("mse.pixel_mean", "a test")[1].definition)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Path:
    """A folder of installed packages with one that adds a model."""
    site = tmp_path_factory.mktemp("site")
    added = {
        "lab/__init__.py": "raise RuntimeError('nobody needs to import it')\n",
        "lab/modules/models/theirs.py": MODEL.replace("return ", "return 0 * "),
        "lab/config/models/theirs.yaml": ENTRY.format("Theirs"),
        "lab/config/models/outside.yaml": ENTRY.format("Outside") + "class: nets.last:Last\n",
        "nets/__init__.py": "raise RuntimeError('no plan needs to import it')\n",
        "nets/last.py": LAST,
        "nets/layers.py": "FACTOR = 1.0\n",
        "lab-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n",
        "lab-1.0.dist-info/entry_points.txt": POINTS,
    }
    return written(site, added)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A project with a model, a module that it shares, and a metric."""
    made = tmp_path_factory.mktemp("project")
    shutil.copytree(CONFIG_FOLDER, made / "config")
    shutil.copy(CONFIG_FOLDER.parent / "tests" / "workflow" / "tiny.yaml", made)
    added = {
        MARK: "",
        "modules/models/darker.py": MODEL,
        "modules/models/darkness.py": "DARKNESS = 0.5\n",
        "modules/metrics/darkest.py": METRIC,
        "config/models/darker.yaml": ENTRY.format("Darker"),
        "config/conventions/darkest.yaml": CONVENTIONS,
    }
    return written(made, added)


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.long(part="own")
def test_an_edit_of_a_module_of_ones_own_plans_its_cells_again_and_no_others(lab, folder):
    path = f"{lab}{os.pathsep}{CONFIG_FOLDER.parent}"
    code = f"from pathlib import Path\nLAB = Path({str(lab / 'lab')!r})\n{EDITS}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "STP_STORE_DIR": str(folder / "store")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    both = "['darker', 'theirs']"  # they share a module
    changed = ["[]", "['darker']", both, "['theirs']", "['outside']"]
    assert done.stdout.split("\n")[:5] == changed


@pytest.mark.parametrize(
    ("chosen", "what", "remedy"),
    [
        ("nets.lost:Last", "nets.lost", "install"),
        ("no_such_package:Last", "no_such_package", "install"),
        ("nets.last:Lost", "last.py", "Last"),
        ("stp.models.simvp:SimVPP", "simvp.py", "SimVP"),
    ],
)
def test_a_class_that_does_not_exist_is_an_error_of_the_plan(
    lab, monkeypatch, chosen, what, remedy
):
    monkeypatch.syspath_prepend(lab)
    with pytest.raises(StpError) as caught:
        named_class.source_of(chosen, "config/models/outside.yaml: class")
    assert f"config/models/outside.yaml: class: {chosen}" in caught.value.what
    assert what in caught.value.what and remedy in caught.value.remedy


def test_a_model_may_lie_in_the_folder_of_a_suite(tmp_path, monkeypatch):
    written(tmp_path, {"suites/nowcast/models/drift.py": MODEL})
    monkeypatch.setattr(stp, "__path__", [*stp.__path__, str(tmp_path)])
    named = named_class.of_suite("stp.models", "drift")
    assert named == "stp.suites.nowcast.models.drift:Model"
    assert named_class.of_suite("stp.models", "simvp") is None
    written(tmp_path, {"models/drift.py": MODEL})
    with pytest.raises(StpError, match=r"drift.py"):
        named_class.of_suite("stp.models", "drift")


def test_a_job_may_read_the_package_of_the_class_of_its_recipe(lab, monkeypatch):
    monkeypatch.syspath_prepend(lab)
    outside, ours = {"class": "nets.last:Last"}, {"class": "stp.models.simvp:SimVP"}
    assert named_class.package_of(outside) == [lab / "nets"]
    assert named_class.package_of({"rollout": outside}) == [lab / "nets"]
    assert named_class.package_of(ours) == named_class.package_of({"model": "simvp"}) == []


def test_the_form_of_a_class_and_its_kind_are_checked_where_they_are_set():
    entry = {"title": "Outside", "reference": "a test"}
    for wrong in ({"fit": "sgd", "class": "nets.last"}, {"fit": "closed_form", "class": "a:B"}):
        with pytest.raises(StpError, match="class"):
            checked_config.check(Model, {**entry, **wrong}, "outside.yaml")


def test_names_are_unique(tmp_path, monkeypatch):
    for name in ("first", "second"):
        written(tmp_path / name, {"config/models/mine.yaml": "", "modules/models/mine.py": ""})
    roots = (tmp_path / "first", tmp_path / "second")
    monkeypatch.setattr(checked_config, "extensions", lambda: roots)
    with pytest.raises(StpError, match=r"second/config/models/mine.yaml"):
        checked_config.entries("models")
    monkeypatch.setattr(project, "own_modules", lambda: tuple(one / "modules" for one in roots))
    with pytest.raises(StpError, match=r"second/modules/models/mine.py"):
        project.check_own_modules()
    written(tmp_path / "first", {"modules/models/tau.py": ""})
    monkeypatch.setattr(project, "own_modules", lambda: (tmp_path / "first" / "modules",))
    with pytest.raises(StpError, match=r"tau.py .*stp/models/tau.py"):
        project.check_own_modules()


def test_files_that_are_added_are_called_as_modules_of_the_package(tmp_path, monkeypatch):
    roots = (tmp_path / "first" / "modules", tmp_path / "second" / "modules")
    monkeypatch.setattr(project, "own_modules", lambda: roots)
    named = {
        roots[0] / "models" / "mine.py": "stp.models.mine",
        roots[1] / "metrics" / "__init__.py": "stp.metrics",
        roots[1] / "metrics" / "mine.txt": None,
        tmp_path / "models" / "mine.py": None,
    }
    assert {path: project.name_of(path) for path in named} == named


PRINTS = 'print("code of the project ran")\n'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder without a project of its own below one."""
    written(tmp_path / "shared", {MARK: "", "modules/models/persistence.py": PRINTS})
    (tmp_path / "shared" / "clone").mkdir()
    return tmp_path / "shared" / "clone"


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file belong to somebody else than this process."""
    if os.geteuid() == 0:
        os.chown(path, 54321, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)


def test_a_project_of_another_user_is_refused(clone, monkeypatch):
    assert project.project_folder(clone) == clone.parent
    give_away(clone.parent / MARK, monkeypatch)
    with pytest.raises(StpError, match=MARK) as refused:
        project.project_folder(clone)
    assert project.TRUSTED in refused.value.remedy
    monkeypatch.setenv(project.TRUSTED, f"/elsewhere{os.pathsep}{clone.parent}")
    assert project.project_folder(clone) == clone.parent


def test_root_trusts_the_user_behind_sudo_and_nobody_else_does(clone, monkeypatch):
    if os.geteuid() == 0:
        os.chown(clone.parent / MARK, 54321, -1)
    owner = (clone.parent / MARK).stat().st_uid
    for user, behind in ((0, ""), (0, "me"), (0, str(owner + 1)), (owner + 2, str(owner))):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        monkeypatch.setenv("SUDO_UID", behind)
        with pytest.raises(StpError, match=MARK):
            project.project_folder(clone)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert project.project_folder(clone) == clone.parent


@pytest.mark.parametrize("name", [".", "modules", MARK])
def test_a_project_that_everybody_can_write_to_is_refused(clone, name):
    path = clone.parent / name
    path.chmod(path.stat().st_mode | 0o002)
    with pytest.raises(StpError, match=str(path)):
        project.project_folder(clone)


def run(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stp", *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_a_command_below_it_ends_with_one_error_and_runs_nothing_of_it(clone):
    clone.parent.chmod(0o777)
    done = run("list", "models", folder=clone)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert str(clone.parent) in done.stderr and "code of" not in done.stdout


@pytest.mark.parametrize("value", ["gone", "gone.deeper", "raising.deeper", "json.decoder"])
def test_an_extension_that_cannot_be_found_is_named_and_left_out(tmp_path, value):
    added = {
        "raising/__init__.py": "raise RuntimeError('not for this Python')\n",
        "lab-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: lab-of-theirs\nVersion: 1.0\n",
        "lab-1.0.dist-info/entry_points.txt": POINTS.replace("= lab", f"= {value}"),
    }
    site = written(tmp_path / "site", added)
    path = f"{site}{os.pathsep}{CONFIG_FOLDER.parent}"
    done = run("list", "store", "--help", folder=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert "lab-of-theirs" in done.stderr and value in done.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [("x = 1\ndef f(:\n", ", line 2"), ("x = 1\n  y = 2\n", ", line 2"), ("x\0", "")],
)
@pytest.mark.parametrize("kind", ["models", "metrics", "datasets"])
def test_a_module_that_is_no_python_is_named_with_its_line(tmp_path, monkeypatch, kind, text, line):
    path = written(tmp_path, {f"{kind}/broken.py": text}) / kind / "broken.py"
    monkeypatch.setattr(fingerprint, "own_modules", lambda: (tmp_path,))
    for ask in (
        lambda: fingerprint.Sources().closure([f"stp.{kind}.broken"]),
        lambda: check_model_options(path, "Model", {"width": 3}, "broken"),
    ):
        with pytest.raises(StpError) as caught:
            ask()
        assert caught.value.what.startswith(f"{path}{line}: ")


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("import math\nimport no_such_library.part\n", 2, "install no_such_library"),
        ("from torch import nn\n\nclass Model(nn.Modul):\n    pass\n", 3, "correct it"),
        ("def width():\n    return 1 / 0\n\nWIDTH = width()\n", 2, "correct it"),
        ("class Model:\n    def f(:\n        pass\n", 2, "correct it"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_error(
    tmp_path, monkeypatch, capsys, text, line, remedy
):
    path = tmp_path / "models" / "broken_import.py"
    written(tmp_path, {"models/broken_import.py": text})
    monkeypatch.setattr(readable_traceback, "own_modules", lambda: (tmp_path,))
    monkeypatch.setattr(stp.models, "__path__", [*stp.models.__path__, str(path.parent)])
    importlib.invalidate_caches()
    recipe = {"model": "broken_import", "options": {}, "shape": (1, 8, 8)}
    with pytest.raises(SystemExit):
        cli._run_or_exit(lambda: create({**recipe, "context": 1, "horizon": 1}))
    said = capsys.readouterr().err
    assert f"{path}, line {line}: " in said and remedy in said
    assert len(said.splitlines()) <= 4 and "Traceback" not in said


def test_an_error_of_a_module_that_was_imported_keeps_its_traceback(tmp_path, monkeypatch, capsys):
    path = written(tmp_path, {"models/late.py": "def fail():\n    return 1 / 0\n"}) / "models"
    monkeypatch.setattr(readable_traceback, "own_modules", lambda: (tmp_path,))
    monkeypatch.setattr(stp.models, "__path__", [*stp.models.__path__, str(path)])
    importlib.invalidate_caches()
    late = importlib.import_module("stp.models.late")
    with pytest.raises(SystemExit):
        cli._run_or_exit(late.fail)
    assert "Traceback" in capsys.readouterr().err
