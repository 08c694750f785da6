"""The conventions that are scored on each dataset, and the networks that they need."""

from collections.abc import Mapping

from stp.core.errors import StpError
from stp.plan.config import Config
from stp.plan.metric import Metric, Seen
from stp.plan.setting import EXPECTED_SHOWN, read_shown
from stp.plan.strict import check_known


class ScoredConventions:
    """The conventions of a configuration.

    Args:
        config: the checked configuration.
        weights: checksums of the weights that are at hand, by the name of the network.
    """

    def __init__(self, config: Config, weights: Mapping[str, Mapping[str, str]]) -> None:
        self.config = config
        self._at_hand = dict(weights)
        self._conventions: dict[tuple[str, bool], list[str]] = {}
        self._scored: dict[tuple[str, bool, bool], list[str]] = {}
        self._looked_through: dict[tuple[str, ...], tuple[dict[str, Seen], list[str]]] = {}

    def conventions(self, dataset: str, samples: int = 1) -> list[str]:
        """List the conventions that are scored on a dataset, the table's columns first.

        Args:
            dataset: of the test.
            samples: forecasts of each clip.

        Raises:
            StpError: a convention is not declared in config/conventions.
        """
        if (dataset, samples > 1) in self._conventions:
            return self._conventions[dataset, samples > 1]
        row = self.config.suite.datasets.get(dataset, "")
        where = (
            f"config/suites/{self.config.scale.suite}/suite.yaml"
            if row
            else f"{self.config.declared[dataset]}: metrics"
        )
        wanted = [
            *(_convention(shown, where) for shown in self.columns(dataset).values()),
            *self.also(dataset),
            *(self.config.suite.ensembles.get(row, ()) if samples > 1 else ()),
            *(
                (_convention(shown, where) for shown in self.sampled_columns(dataset).values())
                if samples > 1
                else ()
            ),
        ]
        for convention in wanted:
            metric, _, choice = convention.partition(".")
            check_known(metric, self.config.metrics, "metric", where)
            known = self.config.metrics[metric].conventions
            check_known(choice, known, f"convention of {metric}", where)
        self._conventions[dataset, samples > 1] = list(dict.fromkeys(wanted))
        return self._conventions[dataset, samples > 1]

    def columns(self, dataset: str) -> dict[str, str]:
        """Column of a dataset's table -> what it shows, see `stp.plan.setting.read_shown`.

        On your own data they are called alike; ``t2m wrmse.per_frame`` shows that of a variable.
        """
        row = self.config.suite.datasets.get(dataset)
        if row is None:
            metrics = self.config.datasets[dataset].metrics
            return {name: name.rpartition(" ")[2] for name in metrics}
        return self.config.suite.columns[row]

    def sampled_columns(self, dataset: str) -> dict[str, str]:
        """Further columns of models that draw several forecasts -> convention."""
        row = self.config.suite.datasets.get(dataset, "")
        return self.config.suite.sampled.get(row, {})

    def curves(self, dataset: str) -> dict[str, str]:
        """Panel of the figure over lead time -> convention; none where columns are the panels."""
        return self.config.suite.curves.get(self.config.suite.datasets.get(dataset, ""), {})

    def also(self, dataset: str) -> list[str]:
        """Conventions that are scored besides those of a dataset's columns."""
        return list(self.config.suite.also.get(self.config.suite.datasets.get(dataset, ""), ()))

    def metric(self, convention: str) -> Metric:
        """What is known about the metric of a convention, such as ``ssim.range2``."""
        return self.config.metrics[convention.partition(".")[0]]

    def _is_higher_better(self, convention: str) -> bool | None:
        return self.metric(convention).is_higher_better(convention.partition(".")[2])

    def network(self, convention: str) -> str | None:
        """The network whose weights a convention needs, if it needs one."""
        looks = self.looks(convention)
        if looks and looks.seed is not None:
            return None
        return looks.network if looks else self.metric(convention).weights.get(_choice(convention))

    def looks(self, convention: str) -> Seen | None:
        """What a distance between sets of clips is made from; None for all other conventions."""
        return self.metric(convention).features.get(_choice(convention))

    def looked_through(self, conventions: list[str]) -> tuple[dict[str, Seen], list[str]]:
        """Features by convention, and the networks of conventions that run them while scoring."""
        key = tuple(conventions)
        if key not in self._looked_through:
            looks = {name: seen for name in conventions if (seen := self.looks(name))}
            networks = {self.network(name) for name in conventions if name not in looks}
            self._looked_through[key] = looks, sorted(filter(None, networks))
        return self._looked_through[key]

    def why_unavailable(self, convention: str) -> str:
        """Why nothing is scored with a convention here; nothing if it is."""
        metric, network = self.metric(convention), self.network(convention)
        if not metric.available:
            return metric.reason
        if network is not None and network not in self._at_hand:
            return f"the weights of {network} are not there (see `stp list weights`)"
        return ""

    def scored(self, dataset: str, perceptual: bool, samples: int = 1) -> list[str]:
        """List the conventions of one of a cell's two score jobs.

        Args:
            dataset: of the test.
            perceptual: those that a GPU computes, or all others.
            samples: forecasts of each clip.
        """
        key = dataset, perceptual, samples > 1
        if key not in self._scored:
            self._scored[key] = [
                name
                for name in self.conventions(dataset, samples)
                if self.metric(name).perceptual == perceptual and not self.why_unavailable(name)
            ]
        return self._scored[key]


def _choice(convention: str) -> str:
    """``range2`` of ``ssim.range2``."""
    return convention.partition(".")[2]


def _convention(shown: str, where: str) -> str:
    """The convention that a column shows, maybe at one threshold or lead time."""
    try:
        return read_shown(shown).convention
    except ValueError:
        raise StpError(
            f"{where}: {shown!r} is nothing that a column may show",
            expected=EXPECTED_SHOWN,
            remedy="write it so",
        ) from None
