"""The mistakes that users make most, each made for real: the message names what to do."""

import errno
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from typer.exceptions import TyperException

from stp.cli import command
from stp.core.disk import writing
from stp.core.errors import StpError
from stp.core.parquet import read_table
from stp.core.receipts import require_receipt
from stp.plan.checked_config import merge, read_yaml
from stp.prepare.own.splits import check_splits
from stp.run import snakemake_cli
from stp.run.cluster import resume
from stp.run.cluster.site import Site

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests/workflow/tiny.yaml"
TABLE = "results/tables/short_term.csv"

Case = str | Callable[[], Any]


def stp(words: str) -> None:
    command()(shlex.split(words)[1:], prog_name="stp", standalone_mode=False)  # type: ignore[call-arg]


def plan_of(text: str) -> None:
    Path("mine.yaml").write_text(text)
    stp("stp plan --configfile mine.yaml")


def planned(text: str) -> Case:
    """`stp plan` of a scale file with this text."""
    return lambda: plan_of(text)


def scale(**changes: Any) -> Case:
    """`stp plan` of a small scale file with changed keys; None removes a key."""

    def plan() -> None:
        content = merge(read_yaml(TINY), changes).items()
        plan_of(yaml.safe_dump({key: value for key, value in content if value is not None}))

    return plan


def called(words: str) -> Case:
    """A call of Snakemake, as `profiles/default` looks at it."""
    return lambda: snakemake_cli.check_configfiles(shlex.split(words)[1:])


def site(text: str) -> Case:
    def load() -> None:
        Path("site.yaml").write_text(text)
        os.environ["STP_SITE"] = "site.yaml"
        Site.load()

    return load


def clips(folder: str, *shapes: tuple[int, ...]) -> None:
    Path(folder).mkdir()
    for number, shape in enumerate(shapes):
        np.save(Path(folder, f"{number}.npy"), np.zeros(shape, np.uint8))


def other_lengths() -> None:
    clips("predicted", (4, 8, 8))
    clips("true", (5, 8, 8))
    stp("stp videos evaluate predicted true")


def no_common_clip() -> None:
    clips("predicted", (4, 8, 8))
    Path("true").mkdir()
    np.save("true/a.npy", np.zeros((4, 8, 8), np.uint8))
    stp("stp videos evaluate predicted true")


def without_i3d() -> None:
    clips("real", *[(16, 32, 32)] * 2)
    clips("generated", *[(16, 32, 32)] * 2)
    stp("stp videos fvd real generated")


def damaged_table() -> None:
    folder = Path("store/scores/0123456789abcdef")
    folder.mkdir(parents=True)
    (folder / "scores.parquet").write_bytes(b"PAR1 cut")
    read_table(folder / "scores.parquet")


def missing_table() -> None:
    read_table(Path("store/scores/0123456789abcdef/scores.parquet"))


def damaged_receipt() -> None:
    folder = Path("store/scores/0123456789abcdef")
    folder.mkdir(parents=True)
    (folder / "artefact.json").write_text("{")
    require_receipt(folder)


def full_disk() -> None:
    with writing(Path("results/tables/short_term.csv")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def locked_by_a_living_run() -> None:
    Path(resume.LOCKS).mkdir(parents=True)
    Path(resume.LOCKS, "0.output.lock").write_text(TABLE)
    resume.refuse_if_alive(Path.cwd(), False)


def damaged_film() -> None:
    Path("films").mkdir()
    Path("films/one.mp4").write_bytes(b"not a film")
    stp("stp new-dataset films")


def empty_folder() -> None:
    Path("films").mkdir()
    stp("stp new-dataset films")


def outside_of_a_project() -> None:
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    stp("stp run short_term")


def demo_elsewhere() -> None:
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    stp("stp plan")


CASES: list[tuple[Case, str]] = [
    # The command line
    ("stp gc", "stp store gc"),
    ("stp plan --json", "--format json"),
    ("stp run", "TARGETS"),
    ("stp run all --scale atlas_demo", "atlas-demo?"),
    ("stp run all --scale mine.yml", "mine.yml"),
    (outside_of_a_project, "stp init"),
    (demo_elsewhere, "stp init"),
    ("stp plan --configfile config/dmeo.yaml", "config/demo.yaml?"),
    (called(f"snakemake --configfile config/demo.yaml {TABLE} -n"), f"-n -- {TABLE}"),
    (called("snakemake --configfile config/demo.yaml all_tables"), "-- all_tables"),
    (lambda: snakemake_cli.check_targets([TABLE.replace("_", "")], [], [TABLE]), f"{TABLE}?"),
    (lambda: snakemake_cli.check_targets(["xyz"], [], [TABLE]), "xyz"),
    ("stp run --resume", "--resume"),
    (locked_by_a_living_run, "--owner-is-dead"),
    # Scale files
    (planned("scale: x\nmodels: [a\nseeds: 0\n"), "mine.yaml, line 3"),
    (planned("scale: x\n\tseeds: [0]\n"), "mine.yaml, line 2"),
    (planned("train:\n  epochs: 1\n  lr: 0.1\n  epochs: 2\n"), "line 4 .* 'epochs'"),
    (planned('{"a": 1, "a": 1}'), "line 1 .* 'a'"),
    (planned("- a\n- b\n"), "mine.yaml"),
    (scale(dimensions=None), "`dimensions: ...`"),
    (scale(seed=[0]), "seeds?"),
    (scale(seeds=0), "seeds"),
    (scale(suite="predbnech"), "predbench?"),
    (scale(dimensions={"short_trem": {"models": ["persistence"]}}), "short_term?"),
    (scale(dimensions={"short_term": {"models": ["simvp2"]}}), "simvpv2?"),
    (scale(dimensions={"short_term": {"datasets": ["moving_mnits"]}}), "moving_mnist?"),
    (scale(models={"convlstm": {"options": {"num_hiden": [4]}}}), "num_hidden?"),
    (scale(models={"persistence": {"options": {"width": 3}}}), "width"),
    (scale(train={"learning_rate": 0.1}), "lr?"),
    (scale(train={"batch_size": 0}), "batch_size"),
    (scale(runtime={"score_threads": 0}), "score_threads"),
    (lambda: check_splits({"by": "file", "train": 1.1, "val": -0.2, "test": 0.1}), "1.1"),
    (scale(runtime={"device": "gpu"}), "'gpu'"),
    (lambda: snakemake_cli.check_device({"device": "cuda"}), "cuda"),
    (site("gpu:\n  partion: gpu\n"), "partition?"),
    # Names
    ("stp table short_tern", "short_term?"),
    ("stp list models convlsmt", "convlstm?"),
    ("stp list datasets kht", "kth?"),
    ("stp list metrics ssmi", "ssim?"),
    ("stp list weights i3dd", "i3d?"),
    ("stp check facts predbnech", "predbench?"),
    ("stp draw figure rank results/demo/plan/short_term.json --out a.png", "ranks?"),
    ("stp draw clips kht", "kth?"),
    ("stp train simvp3 kth", "simvpv2?"),
    ("stp fetch", "--check"),
    ("stp profile persistence kth", "persistence"),
    # What is not made yet
    ("stp table short_term", "snakemake --profile local"),
    ('stp query "FROM leaderboard"', "stp collect --database"),
    ("stp compare simvpv2 convlstm", TABLE),
    ("stp trace 0.8478", "stp collect --database"),
    ("stp trace simvpv2/kth", "stp collect --database"),
    ("stp render results/demo/results.duckdb", "stp collect --database"),
    ("stp draw pictures results/demo/plan/short_term.json", "short_term.json"),
    ("stp forecast convlstm/kth clip.mp4", "stp train convlstm kth"),
    ("stp study preferences", "ANSWERS"),
    ("stp study questionnaire", "short_term.json"),
    # The store
    (missing_table, "rm -r store/scores/0123456789abcdef"),
    (damaged_table, "rm -r store/scores/0123456789abcdef"),
    (damaged_receipt, "rm -r store/scores/0123456789abcdef"),
    (full_disk, "STP_STORE_DIR"),
    ("stp store verify", "STP_STORE_DIR"),
    ("stp store gc", "STP_STORE_DIR"),
    ("stp store export", "--out"),
    ("stp store export out.tar simvp3", "simvpv2?"),
    ("stp store import config", "stp store export"),
    ("stp store accept convlstm enso", "--reason"),
    # Own data, weights, other models
    ("stp init config", "config"),
    (empty_folder, "films"),
    (damaged_film, "one.mp4"),
    (without_i3d, "stp list weights --fetch i3d"),
    (other_lengths, "(4, 1, 8, 8)"),
    (no_common_clip, "stp videos fvd"),
    ("stp external import config --model theirs", "windows.json"),
]
"""Cases, and what the message names."""


@pytest.mark.parametrize(("case", "named"), CASES)
def test_a_mistake_is_answered_by_a_message(
    case: Case, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for link in ("config", "profiles"):
        (tmp_path / link).symlink_to(ROOT / link)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name, value in (("STP_STORE_DIR", "store"), ("STP_RAW_DIR", "raw"), ("STP_SITE", "")):
        monkeypatch.setenv(name, value)
    with pytest.raises((StpError, TyperException)) as error:
        stp(case) if isinstance(case, str) else case()
    usage = isinstance(error.value, TyperException)
    text = error.value.format_message() if usage else str(error.value)
    assert all(part in text for part in named.split(" .* ")), text
