"""List the raw files of a plan: of datasets, forecast archives, weights, imported predictions."""

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
    """Describes the raw files of a plan; repeated calls return the same `Raw`.

    Args:
        recipes: recipes of the plan.
        code: fingerprints of code. Generated raw files are identified by the code of their
            generator.
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
        """Raw files of a dataset, in the release (version) that the configuration selects."""
        if name in self._raws:
            return self._raws[name]
        dataset = self.config.datasets[name]
        release = dataset.releases[dataset.release]
        where = f"{self.config.declared[name]}: releases.{dataset.release}"
        self._raws[name] = self._make_raw(name, dataset.release, release, where)
        return self._raws[name]

    def _make_raw(self, name: str, title: str, release: Release, where: str) -> Raw:
        reads: dict[str, str] = {}
        if release.generator:
            code = self.code.of(named_modules.generator(release.generator))
            reads = self.code.checksums(release.reads, f"{where}.reads")
            parts = [name, title, code.fingerprint, release.options]
            declared = {file.path: file.sha256 for file in release.files}
            identity = digest([*parts, *(files for files in (reads, declared) if files)])
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
        """The archive from which a model's forecasts of a dataset are read; None without one.

        Each release of a dataset has its own archive, so that synthetic data get synthetic
        forecasts.

        Raises:
            ConfigurationError: the model has archives, but none for this dataset and release.
        """
        archives, name = self.config.models[model].archives, f"{model}-{dataset}"
        if not archives:
            return None
        release = self.config.datasets[dataset].release
        if (name, release) not in self._archives:
            where = f"config/models/{model}.yaml: archives"
            configuration.check_known(dataset, archives, "dataset", where)
            configuration.check_known(release, archives[dataset], "release", f"{where}.{dataset}")
            self._archives[name, release] = self._make_raw(
                name, release, archives[dataset][release], f"{where}.{dataset}.{release}"
            )
        return self._archives[name, release]

    def pretrained_weights(self, model: str, dataset: str) -> Raw | None:
        """The file of pretrained weights of a model for a dataset; None without one.

        The file is identified by its SHA-256.
        """
        weights = self.recipes.weights(model, dataset)
        if weights is None:
            return None
        name = weights.sha256[:16]
        if name not in self._weights:
            identity = digest([WEIGHTS, weights.sha256])
            lock = f"raw/{WEIGHTS}/{name}.lock.json"
            self._weights[name] = Raw(WEIGHTS, name, lock, identity, None, weights.release)
        return self._weights[name]

    def raw_submission(self, submission: Submission) -> Raw:
        """The file of the imported predictions of one test, identified by its checksum."""
        name = submission.sha256[:16]
        if name not in self._submitted:
            identity = digest([EXTERNAL, submission.sha256])
            lock = f"raw/{EXTERNAL}/{name}.lock.json"
            self._submitted[name] = Raw(EXTERNAL, name, lock, identity, None, submission.release)
        return self._submitted[name]

    def find(self, target: str, store: Path) -> Raw:
        """Find raw files by the name of a dataset, or the path of the file with their checksums.

        The latter is called a lock file.

        Args:
            target: name of a dataset, or path of a lock file, absolute or relative to the store.
            store: folder of the store.

        Raises:
            StpError: the dataset is unknown, or no release has the lock file.
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
        others = (self._weights, self._submitted, self._archives)
        for raw in (raw for raws in others for raw in raws.values()):
            if raw.lock == str(path):
                return raw
        raise StpError(
            f"no release of the configuration has the lock file {path}",
            remedy="run snakemake again: the generator or its options may have changed",
        )


def config_lock_path(raw: Raw) -> Path | None:
    """Path of the file in config/ with the checksums that raw files of a release should have.

    The file need not exist.

    Returns:
        the path; None for generated files, network weights and imported predictions.
    """
    if raw.generated or raw.dataset in (WEIGHTS, EXTERNAL):
        return None
    return configuration.CONFIG_FOLDER / "locks" / f"{raw.dataset}-{raw.release}.json"
