"""The wheel, installed in a folder of its own, without the checkout (docs/projects.md)."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from asking import csv_rows
from checkout import ROOT, TABLE, Checkout

from stp.core.project import MARK, config_folder

FOLDERS = ("stp", "config", "envs", "profiles", "workflow")


def test_configuration_is_found_from_any_folder_of_a_project(tmp_path):
    inside = tmp_path / "project" / "results"
    inside.mkdir(parents=True)
    assert config_folder(inside) == ROOT / "config"
    (tmp_path / "project" / MARK).touch()
    assert config_folder(inside) == tmp_path / "project" / "config"
    assert config_folder(tmp_path) == ROOT / "config"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy of the files that Git knows."""
    folder = tmp_path_factory.mktemp("wheel")
    source = Checkout.create(folder / "source", folder / "shared").folder
    (source / "config" / "site.yaml").write_text("account: somebody\n")
    pip(["wheel", "--no-build-isolation", "--wheel-dir", str(folder), str(source)])
    return next(folder.glob("stp-*.whl"))


def pip(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *command, "--no-deps"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long(part="docs")
def test_the_wheel_carries_all_files_of_the_project(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    expected = {name if name.startswith("stp/") else f"stp/project/{name}" for name in listed}
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == expected | {"stp/project/constraints.txt"}


@pytest.mark.long(part="docs")
def test_an_installed_package_makes_a_project_that_plans(wheel, tmp_path):
    installed, project = tmp_path / "installed", tmp_path / "my project"
    pip(["install", "--quiet", "--target", str(installed), str(wheel)])

    def run(*command: str, folder: Path = project) -> str:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("STP_")}
        binaries = f"{installed / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**inherited, "PYTHONPATH": str(installed), "PATH": binaries}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert str(ROOT) not in said.replace(str(tmp_path), "")
        return f"{done.returncode}\n{said}"

    assert run("stp", "--version", folder=tmp_path) == f"0\nstp {version('stp')}\n"
    assert "`stp init FOLDER`" in run("stp", "plan", folder=tmp_path)
    assert run("stp", "init", project.name, folder=tmp_path).startswith("0\n")
    refused = run("stp", "init", project.name, folder=tmp_path)
    assert not refused.startswith("0\n") and "empty folder" in refused

    planned = run("stp", "plan", "short_term")
    assert planned.startswith("0\n") and "15 cells" in planned
    jobs = run("snakemake", "-n", "--profile", "local", TABLE)
    assert jobs.startswith("0\n") and re.search(r"^train +\d+$", jobs, re.M)
    shutil.copy(ROOT / "tests" / "workflow" / "tiny.yaml", project / "config")
    local = ("snakemake", "--profile", "local", "--configfile", "config/tiny.yaml")
    fetched = run(*local, "--until", "fetch", "--", TABLE)
    assert fetched.startswith("0\n") and "done in" in fetched, fetched

    # A whole table, with a model of the project's own: the files of docs/own_models.md.
    page = (ROOT / "docs" / "own_models.md").read_text()
    files = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", page, re.DOTALL))
    for name, text in files.items():
        (project / name.replace("stp/", "modules/")).parent.mkdir(parents=True, exist_ok=True)
        (project / name.replace("stp/", "modules/")).write_text(text)
    own = ("snakemake", "--profile", "local", "--configfile", "config/conv3d.yaml")
    made = run(*own, "--", TABLE)
    assert made.startswith("0\n"), made
    assert [row["model"] for row in csv_rows(project / TABLE)] == ["Persistence", "Conv3D"]
    model = project / "modules" / "models" / "conv3d.py"
    model.write_text(model.read_text().replace("F.gelu", "F.relu"))
    again = run(*own, "-n", "--", TABLE)
    jobs_now = dict(re.findall(r"^(train|predict\w*|score\w*) +(\d+)$", again, re.M))
    assert jobs_now == {"train": "1", "predict_short_term": "1", "score_short_term": "1"}, again
    why = run("stp", "why", "conv3d", "--configfile", "config/conv3d.yaml")
    assert "module stp.models.conv3d changed: Model._following" in why
    # The configuration of the folder is the one that counts.
    (project / "config" / "models" / "tau.yaml").write_text("fit: sgd\n")
    assert "my project/config/models/tau.yaml: title is missing" in run("stp", "plan")
