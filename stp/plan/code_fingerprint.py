"""Which code can influence an artefact or a table, and its fingerprint."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from stp.core.errors import StpError
from stp.core.fingerprint import Code, Sources
from stp.core.project import place_of
from stp.core.receipts import checksum
from stp.plan import named_class
from stp.plan.config import Config
from stp.plan.dataset import Dataset
from stp.plan.metric import Metric
from stp.plan.model import Model

COLLECT = ("stp.collect.scores", "stp.collect.database")
"""The root modules of what collects scores."""


def entries_of(kind: str, *names: str) -> tuple[str, ...]:
    """Files of the configuration: datasets, models or conventions."""
    return tuple(f"config/{kind}/{name}.yaml" for name in names)


class CodeOfPlan:
    """Fingerprints of code, each computed once.

    Args:
        config: the checked configuration.
        source: the folder that holds the package.
    """

    def __init__(self, config: Config, source: Path) -> None:
        self.config = config
        self.source = source
        self.sources = Sources(source)
        self._codes: dict[tuple[str, ...], Code] = {}
        self._reads: dict[str, dict[str, str]] = {}
        self._variables = {
            entries_of("models", name)[0]: model.environment
            for name, model in config.models.items()
            if model.environment
        }
        self._classes = {
            entries_of("models", name)[0]: model.class_
            for name, model in config.models.items()
            if model.class_
        }

    def of(self, *roots: str) -> Code:
        """Fingerprint the code that root modules can run.

        Modules that are chosen by name (models, readers, metrics, virtual clips) are invisible to
        a static walk, so they are roots as well.
        """
        if roots not in self._codes:
            self._codes[roots] = self.sources.code_of(roots)
        return self._codes[roots]

    def declared(self, entries: Iterable[str]) -> dict[str, str]:
        """What modules that entries of the configuration name read besides what imports name.

        Args:
            entries: such as ``config/models/tau.yaml``.

        Returns:
            path -> SHA-256.

        Raises:
            StpError: there is no such file, or it is not in the checkout.
        """
        found: dict[str, str] = {}
        for entry in entries:
            if entry not in self._reads:
                _, kind, name = entry.removesuffix(".yaml").split("/")
                known: dict[str, Mapping[str, Model | Dataset | Metric]] = {
                    "models": self.config.models,
                    "datasets": self.config.datasets,
                    "conventions": self.config.metrics,
                }
                self._reads[entry] = self.checksums(known[kind][name].reads, f"{entry}: reads")
                self._reads[entry] |= self._class(entry)
            found |= self._reads[entry]
        return found

    def _class(self, entry: str) -> dict[str, str]:
        """The package of a class that a model names, unless it is this one."""
        named = self._classes.get(entry)
        if named is None or named_class.is_ours(named):
            return {}
        return {named.partition(".")[0].partition(":")[0]: named_class.digest_of(named)}

    def environment(self, entries: Iterable[str]) -> dict[str, str]:
        """The variables of the environment that models declare, with their values.

        Args:
            entries: such as ``config/models/tau.yaml``.

        Raises:
            StpError: a declared variable is not set.
        """
        values: dict[str, str] = {}
        for entry in self._variables.keys() & set(entries):
            for variable in self._variables[entry]:
                if variable not in os.environ:
                    raise StpError(
                        f"{entry}: the variable {variable} of the environment is not set",
                        expected="a value for each name under `environment`",
                        remedy=f"export {variable}=..., or make it an option of the model",
                    )
                values[variable] = os.environ[variable]
        return values

    def checksums(self, named: Iterable[str], where: str) -> dict[str, str]:
        """SHA-256 of files and of all files of folders, by their paths in the checkout.

        Raises:
            StpError: there is no such file, or it is not in the checkout.
        """
        found = {}
        for name in named:
            root = place_of(name, self.source)
            for file in _files(root, name, where):
                found[file.relative_to(root).as_posix()] = checksum(file)
        return found


def _files(root: Path, name: str, where: str) -> list[Path]:
    path = root / name
    inside = path.resolve().is_relative_to(root.resolve()) and ".." not in path.parts
    if not inside or not path.exists():
        raise StpError(
            f"{where}: {name} {'does not exist' if inside else 'leaves the checkout'}",
            expected=f"a file or folder in {root}, by its path from there",
            remedy="correct the path, or move the file into the checkout",
        )
    if path.is_file():
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
