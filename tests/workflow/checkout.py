"""A copy of this repository to edit and run, with a store that several copies can share."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forked
from asking import ask

ROOT = Path(__file__).parents[2]
TABLE = "results/tables/short_term.csv"


@dataclass
class Checkout:
    """A working copy.

    Attributes:
        folder: the copy.
        shared: the folder with store and raw files, which other copies may use as well.
    """

    folder: Path
    shared: Path

    @classmethod
    def create(cls, folder: Path, shared: Path, source: Path = ROOT) -> "Checkout":
        """Copy all files that git knows or would add."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (source / name).is_file() or (source / name).is_symlink():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, target, follow_symlinks=False)
        if source == ROOT:
            # Compiled modules, and what `stp.core.fingerprint` remembers of sources: each copy
            # would make them again. Copied sources keep their times, so that Python takes them.
            for made in [
                *ROOT.glob("stp/**/__pycache__/*.pyc"),
                *ROOT.glob("stp/**/__pycache__/*.nb[ic]"),
                *ROOT.glob("stp/__pycache__/*.json"),
                *ROOT.glob("stp/**/empty-*.duckdb.gz"),
            ]:
                target = folder / made.relative_to(ROOT)
                if target.parents[1].is_dir():  # else of a package that is gone
                    target.parent.mkdir(exist_ok=True)
                    shutil.copy2(made, target)
        return cls(folder, shared)

    @classmethod
    def beside(cls, other: "Checkout", folder: Path) -> "Checkout":
        """Copy all files that git knows, and the store of another checkout."""
        shutil.copytree(other.shared, folder / "shared", ignore=shutil.ignore_patterns("state"))
        return cls.create(folder / "checkout", folder / "shared")

    @property
    def store(self) -> Path:
        return self.shared / "store"

    @property
    def environment(self) -> dict[str, str]:
        """This copy's package first, this interpreter's commands, and the shared folders."""
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {
            **inherited,
            "PYTHONPATH": str(self.folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "STP_STORE_DIR": str(self.store),
            "STP_RAW_DIR": str(self.shared / "raw"),
        }

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command here; the result holds its exit code and what it printed."""
        settings = {**self.environment, **environment}
        if command[0] in forked.COMMANDS:
            return forked.run(command, self.folder, settings)
        return subprocess.run(
            command,
            cwd=self.folder,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def snakemake(
        self,
        *options: str,
        config: str = "tests/workflow/tiny.yaml",
        targets: tuple[str, ...] = (),
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        """Ask for the table, or for others."""
        return self.run(
            "snakemake", "--profile", "local", "--configfile", config, *options, "--",
            *(targets or (TABLE,)),
            **environment,
        )  # fmt: skip

    def succeed(self, *command: str, **environment: str) -> str:
        """Run a command here, which must succeed; return what it printed."""
        done = self.run(*command, **environment)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
        return done.stdout

    def make(self, *options: str, **more: Any) -> str:
        """Ask Snakemake for the table, or for others, which must succeed; see `snakemake`."""
        done = self.snakemake(*options, **more)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def planned(self, *options: str, targets: tuple[str, ...] = ()) -> Counter[str]:
        """Dry-run; count the planned jobs by what they are, such as ``train convlstm``.

        Jobs of a cell carry their model, jobs of a dataset its name.
        """
        printed = self.make("-n", "--quiet", "host", *options, targets=targets)
        jobs: Counter[str] = Counter()
        for block in re.split(r"\n *(?=(?:local)?rule )", printed):  # indented in a group
            rule = re.match(r"(?:local)?rule (\w+):", block)
            if rule and rule[1] != "table":  # the copy of a table
                words = dict(re.findall(r"(\w+)=([^,\s]+)", block.partition("wildcards: ")[2]))
                what = words.get("model") or words.get("dataset") or ""
                jobs[f"{rule[1]} {what}".strip()] += 1
        return jobs

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query to the results store."""
        return ask(self.folder / "results" / "results.duckdb", sql)

    def edit(self, name: str, old: str = "", new: str = "\nCHANGED = 1\n") -> None:
        """Replace the first occurrence of a text; without `old`, append."""
        path = self.folder / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new, 1) if old else text + new)

    def restore(self, name: str) -> None:
        """Undo all edits of a file, as going back to an older commit does."""
        shutil.copy2(ROOT / name, self.folder / name)

    def receipts(self) -> dict[str, tuple[int, bytes]]:
        """Map each receipt in the store to its time and content."""
        return {
            str(path.relative_to(self.store)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in self.store.rglob("artefact.json")
        }

    def forget(self, model: str, *stages: str) -> None:
        """Delete what a model has made; all of it, or in these stages' folders of the store."""
        for stage in stages or ("models", "predictions", "scores"):
            for path in list((self.store / stage).rglob(model)):
                shutil.rmtree(path)
