"""Fingerprints (hashes) of the code and files that can influence an artefact or a table.

An artefact is a folder that one job writes. It is made again if its fingerprint changes.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from stp.core.errors import ConfigurationError
from stp.core.fingerprint import Code, Sources
from stp.core.project import place_of
from stp.core.receipts import checksum
from stp.plan import named_class
from stp.plan.config import Config
from stp.plan.dataset import Dataset
from stp.plan.metric import Metric
from stp.plan.model import Model

COLLECT = ("stp.collect.scores", "stp.collect.database")
"""Root modules of the code that collects scores."""


def entries_of(kind: str, *names: str) -> tuple[str, ...]:
    """Paths of the files that configure models and the like, such as ``config/models/tau.yaml``.

    Args:
        kind: datasets, models or conventions.
        names: names of the entries.
    """
    return tuple(f"config/{kind}/{name}.yaml" for name in names)


class CodeOfPlan:
    """Fingerprints (hashes) of code, each computed once.

    Args:
        config: the checked configuration.
        source: folder that holds the package.
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

        Args:
            roots: full names of the modules. They have to include modules that are chosen by name,
                because no static import leads to these: models, readers, metrics, and modules that
                draw training clips on demand (``virtual_clips`` of a dataset).
        """
        if roots not in self._codes:
            self._codes[roots] = self.sources.code_of(roots)
        return self._codes[roots]

    def declared_checksums(self, entries: Iterable[str]) -> dict[str, str]:
        """Checksums of the files that entries of the configuration list under ``reads``.

        Args:
            entries: paths of the entries, such as ``config/models/tau.yaml``.

        Returns:
            SHA-256 of each file, by its path.

        Raises:
            ConfigurationError: a file is missing, or outside of the checkout.
        """
        sums: dict[str, str] = {}
        for entry in entries:
            if entry not in self._reads:
                _, kind, name = entry.removesuffix(".yaml").split("/")
                of_kind: dict[str, Mapping[str, Model | Dataset | Metric]] = {
                    "models": self.config.models,
                    "datasets": self.config.datasets,
                    "conventions": self.config.metrics,
                }
                reads = of_kind[kind][name].reads
                self._reads[entry] = self.checksums(reads, f"{entry}: reads")
                self._reads[entry] |= self._class(entry)
            sums |= self._reads[entry]
        return sums

    def _class(self, entry: str) -> dict[str, str]:
        """Name and hash of a model's class if it is in another package; else empty."""
        name = self._classes.get(entry)
        if name is None or named_class.is_ours(name):
            return {}
        return {name.partition(".")[0].partition(":")[0]: named_class.digest_of(name)}

    def environment(self, entries: Iterable[str]) -> dict[str, str]:
        """Values of the environment variables that entries of the configuration declare, by name.

        Args:
            entries: paths of the entries, such as ``config/models/tau.yaml``.

        Raises:
            ConfigurationError: a declared variable is not set.
        """
        values: dict[str, str] = {}
        for entry in self._variables.keys() & set(entries):
            for variable in self._variables[entry]:
                if variable not in os.environ:
                    raise ConfigurationError(
                        f"{entry}: the variable {variable} of the environment is not set",
                        expected="a value for each name under `environment`",
                        remedy=f"export {variable}=..., or make it an option of the model",
                    )
                values[variable] = os.environ[variable]
        return values

    def checksums(self, names: Iterable[str], where: str) -> dict[str, str]:
        """SHA-256 of files, and of all files below folders, by path in the checkout.

        Args:
            names: paths of the files and folders, relative to the checkout.
            where: file and key in the configuration that name these paths, for errors.

        Raises:
            ConfigurationError: a file is missing, or outside of the checkout.
        """
        sums = {}
        for name in names:
            root = place_of(name, self.source)
            for file in _files(root, name, where):
                sums[file.relative_to(root).as_posix()] = checksum(file)
        return sums


def _files(root: Path, name: str, where: str) -> list[Path]:
    path = root / name
    is_inside = path.resolve().is_relative_to(root.resolve()) and ".." not in path.parts
    if not is_inside or not path.exists():
        raise ConfigurationError(
            f"{where}: {name} {'does not exist' if is_inside else 'leaves the checkout'}",
            expected=f"the path of a file or folder relative to {root}",
            remedy="correct the path, or move the file into the checkout",
        )
    if path.is_file():
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
