"""A checkout that runs on the test cluster, and the tools to disturb it and to look at it."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import yaml
from checkout import TABLE, Checkout
from cluster import Cluster
from standstill import slow_steps

PLAN = Path(__file__).with_name("plan.yaml")
MODEL = "convlstm"
"""The model whose training is disturbed."""

SITE: dict[str, Any] = {
    "accounting": False,
    "cpu": {"partition": "cpu"},
    "gpu": {"partition": "gpu"},
    "first_status_seconds": 2,
    "memory_mb": {"fetch": 1000, "prepare": 1000, "train": 1500, "predict": 1500, "score": 1000},
}
SNAKEMAKE = ("snakemake", "--profile", "slurm", "--configfile", "plan.yaml")
PROVENANCE = {
    *("commit", "host", "person", "slurm_job", "started", "finished", "seconds", "bytes", "extras")
}
"""Columns of the database that say how, not what. The bytes of a training include its history,
which has durations; what a stage reports includes where it resumed."""
UNEQUAL = {"attempts", "cost", "failures", "lineage", "runs", "runtime"}
"""Tables and views of the database that are all about how, who and when."""

Json = dict[str, Any]


@dataclass
class Driver:
    """A running Snakemake.

    Attributes:
        process: it, and nothing that it has started.
        log: what it prints.
    """

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text()

    @property
    def summary(self) -> str:
        """What a person reads last: all after Snakemake's own messages."""
        return self.text.partition("Exiting because a job execution failed")[2]

    def wait(self, seconds: float = 600) -> int:
        """Wait for its end; its exit code.

        Raises:
            AssertionError: it takes longer; it is ended then, and its jobs with it.
        """
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            raise AssertionError(
                f"Snakemake does not end: {self.log}\n{self.text[-3000:]}"
            ) from None

    def succeed(self, seconds: float = 600) -> str:
        """Wait for its successful end; what it printed."""
        assert self.wait(seconds) == 0, self.text
        return self.text

    def fail(self, seconds: float = 600) -> str:
        """Wait for its unsuccessful end; what it printed."""
        assert self.wait(seconds) != 0, self.text
        return self.text

    def kill(self) -> None:
        """End it without any chance to clean up."""
        self.process.kill()
        self.process.wait()


@dataclass
class Scenario(Checkout):
    """A checkout whose jobs run on the test cluster.

    Attributes:
        cluster: where.
        drivers: every Snakemake that was started, oldest first.
        over: whether it was cleaned up; nothing is started any more.
    """

    cluster: Cluster
    drivers: list[Driver] = field(default_factory=list)
    over: bool = False

    @classmethod
    def on(cls, cluster: Cluster, folder: Path, shared: Path | None = None) -> "Scenario":
        """Make a checkout in ``folder``, with a store beside it unless another is given."""
        copy = Checkout.create(folder / "checkout", shared or folder / "shared")
        scenario = cls(copy.folder, copy.shared, cluster)
        scenario.configure()
        return scenario

    def configure(
        self,
        site: Json | None = None,
        gpu: Json | None = None,
        slow_step_s: float = 0,
        **runtime: Any,
    ) -> None:
        """Write site and scale file; nothing of what can be set here enters a fingerprint.

        Args:
            slow_step_s: pause of a training before each step.
        """
        (self.folder / "sitecustomize.py").unlink(missing_ok=True)
        if slow_step_s:
            slow_steps(self.folder, slow_step_s)
        found = {**SITE, **(site or {})}
        found["gpu"] = {**found["gpu"], **(gpu or {})}
        (self.folder / "site.yaml").write_text(yaml.safe_dump(found))
        plan = yaml.safe_load(PLAN.read_text())
        plan["runtime"] |= runtime
        (self.folder / "plan.yaml").write_text(yaml.safe_dump(plan))

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "STP_SITE": str(self.folder / "site.yaml")}

    # Running

    def start(self, *options: str) -> Driver:
        """Ask for the table, by the command of the README; do not wait."""
        return self._start(*SNAKEMAKE, *options, "--", TABLE)

    def _start(self, *command: str) -> Driver:
        assert not self.over, "the scenario was ended"
        log = self.folder / f"printed-{len(self.drivers)}.txt"
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.drivers.append(Driver(process, log))
        return self.drivers[-1]

    def go_on(self, *options: str) -> Driver:
        """Run again after a driver was killed, by the command of the README."""
        return self._start("stp", "run", "--resume", "--", *options)

    def wait(self, true: Callable[[], object], complaint: str, seconds: float = 300) -> None:
        """Wait until something is true, and stop waiting when Snakemake has ended.

        Raises:
            AssertionError: with the complaint.
        """
        deadline = time.monotonic() + seconds
        while not true():
            over = self.drivers and self.drivers[-1].process.poll() is not None
            late = time.monotonic() > deadline
            assert not over and not late, f"{complaint}\n{self.drivers[-1].text[-3000:]}"
            time.sleep(0.2)

    def wait_for_training(self, model: str = MODEL) -> str:
        """Wait until a training is in the middle of an epoch; its Slurm job."""
        found: list[str] = []

        def runs() -> bool:
            saved = list(self.store.glob(f"state/models/*/{model}/**/training.pt"))
            found[:] = self.jobs(f"rule_train_.*_{model}_", "RUNNING")
            return bool(saved and found)

        self.wait(runs, f"no training of {model} gets going")
        return found[0]

    def clean_up(self) -> None:
        """End what this scenario has started and what still runs."""
        self.over = True
        for driver in self.drivers:
            if driver.process.poll() is None:
                driver.kill()
        mine = self.jobs("", "RUNNING", "PENDING", "COMPLETING", "SUSPENDED", "REQUEUED")
        if mine:
            self.cluster.ask("scancel", *mine)
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    # Looking

    def jobs(self, comment: str = "", *states: str) -> list[str]:
        """The Slurm jobs of this checkout, newest first.

        Args:
            comment: a regular expression for Snakemake's comment: rule and wildcards.
            states: only jobs in one of these.
        """
        return [
            job
            for job, what in sorted(
                self.cluster.jobs(*states).items(), key=lambda item: -int(item[0])
            )
            if what.get("WorkDir") == str(self.folder)
            and re.search(comment, what.get("Comment", ""))
        ]

    def processes(self, word: str = "") -> list[int]:
        """Running processes that work in this checkout."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                inside = (entry / "cwd").readlink() == self.folder
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if entry.name.isdigit() and inside and word in command:
                found.append(int(entry.name))
        return found

    def receipt(self, stage: str, model: str = MODEL) -> Json:
        """The receipt of the one artefact of a model in a stage's folder of the store."""
        (path,) = [p for p in self.store.glob(f"{stage}/**/artefact.json") if model in p.parts]
        return json.loads(path.read_text())

    def attempts(self, model: str = MODEL) -> list[str]:
        """How the attempts at a finished training ended, oldest first."""
        return [attempt["how"] for attempt in self.receipt("models", model)["attempts"]]

    def logs(self) -> str:
        """All that the verbs have written into their logs."""
        return "".join(p.read_text() for p in (self.folder / "results/tiny/logs").rglob("*.log"))

    @property
    def database(self) -> Path:
        return self.folder / "results" / "results.duckdb"

    def same_results(self, other: "Scenario") -> bool:
        """Are all rows of the databases equal, but for times, places and durations?

        Raises:
            AssertionError: they are not; says which row differs.
        """
        found = difference(self.database, other.database)
        assert found is None, found
        return True

    # Preparing

    def take_all_but(self, other: "Scenario", *models: str) -> None:
        """Begin with a copy of another store, without what some models have made."""
        shutil.copytree(other.shared, self.shared, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(self.store / "state", ignore_errors=True)
        for model in models:
            self.forget(model)

    def saved_logs(self, target: Path) -> None:
        """Copy what a person needs to understand a failure."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in [*self.folder.glob("printed-*.txt"), *self.folder.glob("*.yaml")]:
            shutil.copy2(path, target)
        for name in ("results/tiny/logs", "results/tiny/partial", ".snakemake/slurm_logs"):
            if (self.folder / name).is_dir():
                shutil.copytree(self.folder / name, target / Path(name).name)
        for path in (self.store / "state").rglob("*.json*"):
            copy = target / "state" / path.relative_to(self.store / "state")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        for name in ("slurmctld.log", "slurmd.log"):
            shutil.copy2(self.cluster.folder / name, target)


def contents(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, sorted, without what says when, where and by whom."""
    tables = {}
    with duckdb.connect(str(database), read_only=True) as connection:
        for (table,) in connection.execute(
            "select table_name from information_schema.tables"
        ).fetchall():
            if table in UNEQUAL:
                continue
            relation = connection.execute(f'select * from "{table}"')
            names = [column[0] for column in relation.description]
            kept = [
                i
                for i, name in enumerate(names)
                if name not in PROVENANCE and not name.endswith(("_folder", "_folders"))
            ]
            rows = [tuple(row[i] for i in kept) for row in relation.fetchall()]
            tables[table] = [tuple(names[i] for i in kept), *sorted(rows, key=repr)]
    return tables


def difference(one: Path, other: Path) -> str | None:
    """Say how the contents of two databases differ; None if they are the same."""
    ours, theirs = contents(one), contents(other)
    if set(ours) != set(theirs):
        return f"tables {sorted(ours)} and {sorted(theirs)}"
    for table, rows in ours.items():
        for mine, yours in zip(rows, theirs[table], strict=False):
            # repr: NaN is not equal to itself, but a result may well be NaN twice
            if repr(mine) != repr(yours):
                return f"{table}:\n  {dict(zip(rows[0], mine, strict=True))}\nand\n  {yours}"
        if len(rows) != len(theirs[table]):
            return f"{table}: {len(rows)} and {len(theirs[table])} rows"
    return None
