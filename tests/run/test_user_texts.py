"""The messages that users meet most, each provoked for real, in one file: `user_texts.txt`.

After a change of a message, write the file again and read the difference:
`STP_WRITE_TEXTS=1 pytest tests/run/test_user_texts.py`.
"""

import difflib
import errno
import io
import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from typer.exceptions import TyperException

from stp.cli import command
from stp.core import exit_codes
from stp.core.disk import writing
from stp.core.errors import StpError
from stp.core.parquet import read_table
from stp.core.receipts import require_receipt
from stp.plan.checked_config import merge, read_yaml
from stp.prepare.own.splits import check_splits
from stp.run import snakemake_cli
from stp.run.cluster import resume
from stp.run.cluster.site import Site
from stp.run.results import last_results

ROOT = Path(__file__).parents[2]
TEXTS = Path(__file__).with_name("user_texts.txt")
TINY = read_yaml(ROOT / "tests/workflow/tiny.yaml")
TABLE = "results/tables/short_term.csv"

Case = str | Callable[[], Any]


def stp(words: str) -> None:
    command()(shlex.split(words)[1:], prog_name="stp", standalone_mode=False)  # type: ignore[call-arg]


def planned(text: str) -> Case:
    """`stp plan` of a scale file with this text."""

    def plan() -> None:
        Path("mine.yaml").write_text(text)
        stp("stp plan --configfile mine.yaml")

    return plan


def scale(**changes: Any) -> Case:
    """`stp plan` of a small scale file with changed keys; None removes a key."""
    content = {key: value for key, value in merge(TINY, changes).items() if value is not None}
    return planned(yaml.safe_dump(content))


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


CASES: dict[str, Case] = {
    # The command line
    "removed verb": "stp gc",
    "removed option": "stp plan --json",
    "nothing to run": "stp run",
    "unknown scale": "stp run all --scale atlas_demo",
    "missing scale file": "stp run all --scale mine.yml",
    "run outside of a project": outside_of_a_project,
    "plan outside of a project": demo_elsewhere,
    "missing configuration file": "stp plan --configfile config/dmeo.yaml",
    "target behind --configfile": called(f"snakemake --configfile config/demo.yaml {TABLE} -n"),
    "rule behind --configfile": called("snakemake --configfile config/demo.yaml all_tables"),
    "unknown target": lambda: snakemake_cli.check_targets([TABLE.replace("_", "")], [], [TABLE]),
    "target like no other": lambda: snakemake_cli.check_targets(["xyz"], [], [TABLE]),
    "nothing to resume": "stp run --resume",
    "locked folder": locked_by_a_living_run,
    # Scale files
    "broken YAML": planned("scale: x\nmodels: [a\nseeds: 0\n"),
    "tab in YAML": planned("scale: x\n\tseeds: [0]\n"),
    "key twice": planned("train:\n  epochs: 1\n  lr: 0.1\n  epochs: 2\n"),
    "key twice in a line": planned('{"a": 1, "a": 1}'),
    "no mapping": planned("- a\n- b\n"),
    "missing key": scale(dimensions=None),
    "unknown key": scale(seed=[0]),
    "wrong type": scale(seeds=0),
    "unknown suite": scale(suite="predbnech"),
    "unknown dimension": scale(dimensions={"short_trem": {"models": ["persistence"]}}),
    "unknown model": scale(dimensions={"short_term": {"models": ["simvp2"]}}),
    "unknown dataset": scale(dimensions={"short_term": {"datasets": ["moving_mnits"]}}),
    "unknown option of a model": scale(models={"convlstm": {"options": {"num_hiden": [4]}}}),
    "option of a model without options": scale(models={"persistence": {"options": {"width": 3}}}),
    "unknown training setting": scale(train={"learning_rate": 0.1}),
    "training setting out of range": scale(train={"batch_size": 0}),
    "no thread": scale(runtime={"score_threads": 0}),
    "negative share of a split": lambda: check_splits(
        {"by": "file", "train": 1.1, "val": -0.2, "test": 0.1}
    ),
    "unknown device": scale(runtime={"device": "gpu"}),
    "no GPU": lambda: snakemake_cli.check_device({"device": "cuda"}),
    "unknown key of the site": site("gpu:\n  partion: gpu\n"),
    # Names
    "unknown table": "stp table short_tern",
    "unknown model in a list": "stp list models convlsmt",
    "unknown dataset in a list": "stp list datasets kht",
    "unknown metric": "stp list metrics ssmi",
    "unknown network": "stp list weights i3dd",
    "unknown suite to check": "stp check facts predbnech",
    "unknown figure": "stp draw figure rank results/demo/plan/short_term.json --out a.png",
    "unknown words of an artefact": "stp train simvp3 kth",
    "nothing to fetch": "stp fetch",
    "network without parameters": "stp profile persistence kth",
    # What is not made yet
    "table without results": "stp table short_term",
    "query without results": 'stp query "FROM leaderboard"',
    "compare without results": "stp compare simvpv2 convlstm",
    "trace without results": "stp trace 0.8478",
    "report without results": "stp render results/demo/results.duckdb",
    "show nothing": "stp trace simvpv2/kth",
    "draw without a manifest": "stp draw pictures results/demo/plan/short_term.json",
    "forecast of an untrained model": "stp forecast convlstm/kth clip.mp4",
    "preferences without answers": "stp study preferences",
    "questionnaire without predictions": "stp study questionnaire",
    # The store
    "missing artefact": missing_table,
    "damaged table": damaged_table,
    "damaged receipt": damaged_receipt,
    "full disk": full_disk,
    "verify an empty store": "stp store verify",
    "clean up an empty store": "stp store gc",
    "export nothing": "stp store export",
    "export unknown words": "stp store export out.tar simvp3",
    "import no store": "stp store import config",
    "accept without a reason": "stp store accept convlstm enso",
    # Own data, weights, other models
    "project in a used folder": "stp init config",
    "folder without films": empty_folder,
    "damaged film": damaged_film,
    "FVD without weights": without_i3d,
    "clips of other lengths": other_lengths,
    "clips without a partner": no_common_clip,
    "forecasts without windows": "stp external import config --model theirs",
}


def message(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that a case prints, with the names of folders of this machine replaced."""
    printed = io.StringIO()
    with monkeypatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.chdir(folder)
        patch.setenv("STP_STORE_DIR", "store")
        patch.setenv("STP_RAW_DIR", "raw")
        patch.setenv("STP_SITE", "")
        try:
            stp(case) if isinstance(case, str) else case()
        except StpError as error:
            print(exit_codes.told(error))
        except TyperException as error:
            print(f"stp: wrong usage: {error.format_message()}")
    text = printed.getvalue()
    # The default scale is that of the last run in this checkout.
    scale = "results/SCALE"
    shown = ((folder, "HERE"), (ROOT, "PROJECT"), (last_results(), scale), ("results/demo", scale))
    for path, name in shown:
        text = text.replace(str(path), name)
    text = re.sub(r"\b[0-9a-f]{16}\b", "FINGERPRINT", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def texts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The text of each case, in a project of its own without results."""
    for number, (name, case) in enumerate(CASES.items()):
        project = folder / str(number)
        project.mkdir()
        for link in ("config", "profiles"):
            (project / link).symlink_to(ROOT / link)
        words = f"$ {case}\n" if isinstance(case, str) else ""
        yield f"## {name}\n{words}{message(case, project, monkeypatch)}\n"


def test_messages_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    now = "\n".join(texts(tmp_path, monkeypatch))
    if os.environ.get("STP_WRITE_TEXTS"):
        TEXTS.write_text(now, encoding="utf-8")
    lines = (TEXTS.read_text(encoding="utf-8").splitlines(), now.splitlines())
    difference = "\n".join(difflib.unified_diff(*lines, "user_texts.txt", "now", lineterm=""))
    assert not difference, f"STP_WRITE_TEXTS=1 writes the file again\n{difference}"
