"""Select the conventions (exact definitions of metrics, such as ``ssim.range2``) of each dataset.

Also says which networks, or features computed by networks, these conventions need.
"""

from collections.abc import Mapping

from stp.core.errors import ConfigurationError
from stp.plan.checked_config import check_known, merge
from stp.plan.column import Column, variables_in
from stp.plan.config import Config
from stp.plan.metric import Convention, Metric, NetworkFeatures, check_definition, find


class ScoredConventions:
    """Selects the conventions (exact definitions of metrics) that are computed for each dataset.

    Args:
        config: the checked configuration.
        weights: checksums of the weights on this machine, by the name of the network.
    """

    def __init__(self, config: Config, weights: Mapping[str, Mapping[str, str]]) -> None:
        self.config = config
        self._at_hand = dict(weights)
        self._conventions: dict[tuple[str, bool], list[str]] = {}
        self._scored: dict[tuple[str, bool, bool], list[str]] = {}
        self._checked: set[str] = set()
        self._networks_of: dict[tuple[str, ...], tuple[dict[str, NetworkFeatures], list[str]]] = {}

    def conventions(self, dataset: str, samples: int = 1) -> list[str]:
        """List the conventions (definitions of metrics) that are computed for a dataset.

        Those of the table's columns come first.

        Args:
            dataset: dataset of the test.
            samples: number of forecasts of each clip. If there are several, conventions for
                ensembles are added (``ensembles`` and ``sampled`` of the suite).

        Raises:
            StpError: a convention is not declared in config/conventions.
        """
        if (dataset, samples > 1) in self._conventions:
            return self._conventions[dataset, samples > 1]
        suite, row = self.config.suite, self.config.suite.datasets.get(dataset, "")
        where = f"config/suites/{self.config.scale.suite}/suite.yaml"
        metrics = self.config.datasets[dataset].metrics
        for columns, table in (
            (suite.columns.get(row, ()), f"{where}: columns.{row}"),
            (metrics, f"{self.config.declared[dataset]}: metrics"),
            (self.curves(dataset), f"{where}: curves.{row}"),
            (self.sampled_columns(dataset), f"{where}: sampled.{row}"),
        ):
            for column in columns:
                self._check_column(column, dataset, f"{table}: {column.heading}")
        for conventions, key in (
            (self.also(dataset), f"{where}: also.{row}"),
            (suite.ensembles.get(row, ()), f"{where}: ensembles.{row}"),
        ):
            for convention in conventions:
                self._check_convention(convention, key)
        names = [column.name for column in self.columns(dataset)]
        twice = next((column.name for column in metrics if names.count(column.name) > 1), None)
        if twice is not None:
            raise ConfigurationError(
                f"{self.config.declared[dataset]}: metrics: its table has another column {twice!r}",
            )
        names = [column.convention for column in self.columns(dataset)] + self.also(dataset)
        of_several = [
            *suite.ensembles.get(row, ()),
            *(column.convention for column in self.sampled_columns(dataset)),
        ]
        self._check_scored(dataset, row, {*names, *of_several}, where)
        names += of_several if samples > 1 else []
        self._conventions[dataset, samples > 1] = list(dict.fromkeys(names))
        return self._conventions[dataset, samples > 1]

    def _check_scored(self, dataset: str, row: str, scored: set[str], where: str) -> None:
        """Refuse columns of other tables and figures whose conventions are not scored."""
        suite = self.config.suite
        reproduced = suite.reproduction.get(dataset)
        further = [(f"curves.{row}", column) for column in self.curves(dataset)]
        if reproduced is not None:
            further += [(f"reproduction.{dataset}", column) for column in reproduced.columns]
        for table, column in further:
            if column.convention not in scored:
                raise ConfigurationError(
                    f"{where}: {table}: {column.heading}: {column.convention} is not scored",
                    expected=f"a convention of columns, sampled, also or ensembles of {row}",
                    remedy=f"name it under also.{row}",
                )

    def _check_convention(self, convention: str, where: str) -> None:
        definition = find(convention, self.config.metrics, where).definition
        if self.metric(convention).available and convention not in self._checked:
            check_definition(definition, f"{where}: {convention}")
            self._checked.add(convention)

    def _check_column(self, column: Column, dataset: str, where: str) -> None:
        self._check_convention(column.convention, where)
        thresholds = self.convention(column.convention).definition.get("thresholds", ())
        if column.threshold is not None and thresholds and column.threshold not in thresholds:
            raise ConfigurationError(
                f"{where}: {column.convention} has no threshold {column.threshold:g}",
                expected=", ".join(f"{threshold:g}" for threshold in thresholds),
                remedy="name one of these, or define a convention with others",
            )
        facts = self.config.datasets[dataset]
        variables = variables_in(merge(facts.prepare, facts.releases[facts.release].prepare))
        if variables is None and facts.units == "1":  # video
            variables = frozenset()
        if column.variable is not None and variables is not None:
            check_known(column.variable, sorted(variables), f"variable of {dataset}", where)

    def columns(self, dataset: str) -> tuple[Column, ...]:
        """Columns of a dataset's table: those of its suite (benchmark), then its own."""
        row = self.config.suite.datasets.get(dataset, "")
        return (*self.config.suite.columns.get(row, ()), *self.config.datasets[dataset].metrics)

    def sampled_columns(self, dataset: str) -> tuple[Column, ...]:
        """Further columns of a dataset's table, for models that draw several forecasts."""
        return self.config.suite.sampled.get(self.config.suite.datasets.get(dataset, ""), ())

    def curves(self, dataset: str) -> tuple[Column, ...]:
        """Panels of the figure that shows the scores of a dataset at each lead time.

        Returns:
            the panels, in the form of columns; empty if the suite declares none, in which case the
            columns of the table are the panels.
        """
        return self.config.suite.curves.get(self.config.suite.datasets.get(dataset, ""), ())

    def also(self, dataset: str) -> list[str]:
        """Conventions (definitions of metrics) that are computed although no column shows them."""
        return list(self.config.suite.also.get(self.config.suite.datasets.get(dataset, ""), ()))

    def metric(self, convention: str) -> Metric:
        """The metric of a convention, such as ``ssim.range2``."""
        return self.config.metrics[convention.partition(".")[0]]

    def convention(self, name: str) -> Convention:
        """The configuration of a convention, by its name, such as ``ssim.range2``."""
        return self.metric(name).conventions[name.partition(".")[2]]

    def _is_perceptual(self, convention: str) -> bool:
        network = self.convention(convention).network
        return self.metric(convention).perceptual or network is not None

    def _is_higher_better(self, convention: str) -> bool | None:
        return self.metric(convention).is_higher_better(convention.partition(".")[2])

    def network(self, convention: str) -> str | None:
        """The network whose weights a convention, such as ``fvd.pooled``, needs; None for none."""
        entry = self.convention(convention)
        if entry.features is not None and entry.seed is not None:
            return None
        return entry.weights or entry.network

    def networks_of(self, conventions: list[str]) -> tuple[dict[str, NetworkFeatures], list[str]]:
        """Find which networks conventions (metrics with options, such as ``fvd.pooled``) need.

        A distance between sets of clips compares features, which a network computes of each clip in
        a separate job. For other metrics, networks run while the clips are scored.

        Returns:
            definitions of the features, by name of the convention that compares them; and the
            sorted names of the networks that run while scoring.
        """
        key = tuple(conventions)
        if key not in self._networks_of:
            entries = {name: self.convention(name) for name in conventions}
            features = {name: entry.features for name, entry in entries.items() if entry.features}
            networks = {self.network(name) for name in conventions if name not in features}
            self._networks_of[key] = features, sorted(filter(None, networks))
        return self._networks_of[key]

    def why_unavailable(self, convention: str) -> str:
        """Reason why a convention (such as ``fvd.pooled``) cannot be computed here; else empty."""
        metric, network = self.metric(convention), self.network(convention)
        if not metric.available:
            return metric.reason
        if network is not None and network not in self._at_hand:
            return f"the weights of {network} are missing (see `stp list weights`)"
        return ""

    def job_conventions(self, dataset: str, perceptual: bool, samples: int = 1) -> list[str]:
        """List the conventions (definitions of metrics) that a score job computes.

        The scores of a model in a test are computed by two jobs, one with and one without networks.

        Args:
            dataset: dataset of the test.
            perceptual: True for the job of conventions that need networks, False for the job of all
                others.
            samples: number of forecasts of each clip. If there are several, conventions for
                ensembles are added (``ensembles`` and ``sampled`` of the suite).

        Returns:
            names of the conventions, without those that cannot be computed here.
        """
        key = dataset, perceptual, samples > 1
        if key not in self._scored:
            self._scored[key] = [
                name
                for name in self.conventions(dataset, samples)
                if self._is_perceptual(name) == perceptual and not self.why_unavailable(name)
            ]
        return self._scored[key]
