"""Where raw bytes come from, and where their lock files live: releases, weights, predictions."""

from pathlib import Path

from stp.core import named_modules
from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.lock import WEIGHTS
from stp.plan import config as configuration
from stp.plan.artefacts import EXTERNAL, Raw
from stp.plan.code_fingerprint import CodeOfPlan
from stp.plan.dataset import Release
from stp.plan.model import Submission
from stp.plan.recipes import Recipes
from stp.plan.setting import check_path


class Raws:
    """All raw bytes of a plan, each named once.

    Args:
        recipes: of the plan.
        code: of the plan; generators make raw bytes.
    """

    def __init__(self, recipes: Recipes, code: CodeOfPlan) -> None:
        self.config = recipes.config
        self.recipes = recipes
        self.code = code
        self._raws: dict[str, Raw] = {}
        self._weights: dict[str, Raw] = {}
        self._submitted: dict[str, Raw] = {}
        self._archives: dict[tuple[str, str], Raw] = {}

    def of_dataset(self, name: str) -> Raw:
        """Name the raw bytes of a dataset's release, and where their lock file lives."""
        if name in self._raws:
            return self._raws[name]
        dataset = self.config.datasets[name]
        release = dataset.releases[dataset.release]
        where = f"{self.config.declared[name]}: releases.{dataset.release}"
        self._raws[name] = self._released(name, dataset.release, release, where)
        return self._raws[name]

    def _released(self, name: str, title: str, release: Release, where: str) -> Raw:
        """Name the raw bytes of a release.

        Args:
            name: of whose release it is.
            title: of the release.
            release: its files, or what generates them.
            where: it is declared, for errors.
        """
        reads: dict[str, str] = {}
        if release.generator:
            code = self.code.of(named_modules.generator(release.generator))
            reads = self.code.checksums(release.reads, f"{where}.reads")
            made_by = [name, title, code.fingerprint, release.options]
            given = {file.path: file.sha256 for file in release.files}
            identity = digest([*made_by, *(one for one in (reads, given) if one)])
            lock = f"raw/{name}/{title}-{identity}.lock.json"
            generated = f"generated/{name}/{title}-{identity}"
        else:
            files = sorted({file.path for file in release.files})
            identity = digest([name, title, release.source, files])
            lock = f"raw/{name}/{title}.lock.json"
            generated = None
        check_path(lock, where)
        return Raw(name, title, lock, identity, generated, release, tuple(reads), where)

    def archive(self, model: str, dataset: str) -> Raw | None:
        """Name the archive that a model's forecasts of a dataset are read from, if they are.

        It has the release of the dataset: what is made up stands beside what is made up.

        Raises:
            StpError: the model has archives, but none of this dataset and release.
        """
        archives, name = self.config.models[model].archives, f"{model}-{dataset}"
        if not archives:
            return None
        release = self.config.datasets[dataset].release
        if (name, release) not in self._archives:
            where = f"config/models/{model}.yaml: archives"
            configuration.check_known(dataset, archives, "dataset", where)
            configuration.check_known(release, archives[dataset], "release", f"{where}.{dataset}")
            place = f"{where}.{dataset}.{release}"
            found = self._released(name, release, archives[dataset][release], place)
            self._archives[name, release] = found
        return self._archives[name, release]

    def given_weights(self, model: str, dataset: str) -> Raw | None:
        """Name the file of weights that the training of a model begins with, if there is one.

        It is known by its checksum, wherever it lies.
        """
        given = self.recipes.weights(model, dataset)
        if given is None:
            return None
        name = given.sha256[:16]
        if name not in self._weights:
            identity = digest([WEIGHTS, given.sha256])
            lock = f"raw/{WEIGHTS}/{name}.lock.json"
            self._weights[name] = Raw(WEIGHTS, name, lock, identity, None, given.release)
        return self._weights[name]

    def submitted(self, given: Submission) -> Raw:
        """Name the file of predictions that were made elsewhere, known by its checksum."""
        name = given.sha256[:16]
        if name not in self._submitted:
            identity, lock = digest([EXTERNAL, given.sha256]), f"raw/{EXTERNAL}/{name}.lock.json"
            self._submitted[name] = Raw(EXTERNAL, name, lock, identity, None, given.release)
        return self._submitted[name]

    def find(self, target: str, store: Path) -> Raw:
        """Find the raw bytes that a dataset's name or the path of a lock file names.

        Args:
            target: the name, or a path relative to the store or absolute.
            store: folder of the store.

        Raises:
            StpError: there is no such dataset or lock file.
        """
        if not target.endswith(".json"):
            configuration.check_known(target, self.config.datasets, "dataset", "fetch")
            return self.of_dataset(target)
        path = Path(target)
        if path.is_absolute() and path.is_relative_to(store):
            path = path.relative_to(store)
        for name in self.config.datasets:
            if self.of_dataset(name).lock == str(path):
                return self.of_dataset(name)
        known = (self._weights, self._submitted, self._archives)
        for given in (raw for raws in known for raw in raws.values()):
            if given.lock == str(path):
                return given
        raise StpError(
            f"no release of the configuration has the lock file {path}",
            remedy="run snakemake again: the generator or its options may have changed",
        )


def registered(raw: Raw) -> Path | None:
    """Path of the registered lock of an official release; the file need not exist."""
    if raw.generated or raw.dataset in (WEIGHTS, EXTERNAL):
        return None
    return configuration.CONFIG_FOLDER / "locks" / f"{raw.dataset}-{raw.release}.json"
