"""`stp run`: short names instead of Snakemake's options and paths."""

import os
import shlex
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.run.snakemake_command import DEFAULTS, arguments

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("targets", "paths"),
    [
        (["short_term"], "results/tables/short_term.csv"),
        (["short_term", "long_term"], "results/tables/short_term.csv results/tables/long_term.csv"),
        (["all"], "all"),
        (["tables"], "results/tables/all"),
        (["figures"], "results/demo/figures/all"),
        (["report"], "results/demo/report/index.html"),
        (["data"], "results/demo/data/all"),
        (["results/tables/short_term.html"], "results/tables/short_term.html"),
    ],
)
def test_names_become_targets(targets: list[str], paths: str) -> None:
    assert shlex.join(arguments(targets)) == f"--profile local -- {paths}"


@pytest.mark.parametrize("scale", ["atlas-demo", "config/atlas-demo.yaml"])
def test_a_scale_is_named_or_given_as_a_file(scale: str) -> None:
    given = arguments(["figures"], scale)
    assert given[2:4] == ["--configfile", "config/atlas-demo.yaml"]
    assert given[-1] == "results/atlas-demo/figures/all"


def test_a_cluster_has_a_profile_and_a_scale_of_its_own() -> None:
    given = arguments(["report"], cluster="slurm")
    assert given == ["--profile", "slurm", "--", "results/paper/report/index.html"]


@pytest.mark.parametrize("profile", DEFAULTS)
def test_the_profiles_name_the_scales_of_the_defaults(profile: str) -> None:
    text = (ROOT / "profiles" / profile / "config.yaml").read_text()
    assert f'configfile: ?str(CONFIG_FOLDER / "{DEFAULTS[profile]}.yaml")' in text


def test_every_file_with_cells_is_a_scale() -> None:
    for path in (ROOT / "config").glob("*.yaml"):
        content = yaml.safe_load(path.read_text())
        if "scale" in content:
            assert arguments(["tables"], path.stem)[3] == f"config/{path.name}"
        else:
            with pytest.raises(StpError, match=path.stem):
                arguments(["tables"], path.stem)


def test_a_misspelt_scale_and_a_missing_file() -> None:
    with pytest.raises(StpError) as error:
        arguments(["tables"], "atlas_demo")
    assert "atlas_demo" in error.value.what and "atlas-demo" in error.value.remedy
    with pytest.raises(StpError, match=r"mine\.yaml"):
        arguments(["tables"], "mine.yaml")


def test_outside_of_a_project_it_says_where_to_go(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StpError, match="stp init") as error:
        arguments(["tables"])
    assert str(tmp_path) in error.value.what


def test_the_command_is_printed_and_run(monkeypatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, words: ran.append(words))
    words = ["run", "short_term", "--scale", "sample", "-n", "--", "--cores", "4", "-k"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    command = (
        "--profile local --configfile config/sample.yaml --dry-run --nolock --cores 4 -k "
        "-- results/tables/short_term.csv"
    )
    assert done.stderr == f"snakemake {command}\n"
    assert ran[0][1:] == ["-m", "snakemake", *shlex.split(command)]
    assert CliRunner().invoke(app, ["run"]).exit_code == 2
    assert CliRunner().invoke(app, ["run", "short_term", "--resume"]).exit_code == 2
    assert CliRunner().invoke(app, ["run", "short_term", "--cores", "4"]).exit_code == 2
