"""The conventions that are scored on each dataset, and the networks that they need."""

from collections.abc import Mapping

from stp.core.errors import StpError
from stp.plan.checked_config import check_known, merge
from stp.plan.column import Column, variables_in
from stp.plan.config import Config
from stp.plan.metric import Convention, Metric, Seen, check_definition, find


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
        self._checked: set[str] = set()
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
        suite, row = self.config.suite, self.config.suite.datasets.get(dataset, "")
        where = f"config/suites/{self.config.scale.suite}/suite.yaml"
        own = self.config.datasets[dataset].metrics
        for columns, place in (
            (suite.columns.get(row, ()), f"{where}: columns.{row}"),
            (own, f"{self.config.declared[dataset]}: metrics"),
            (self.curves(dataset), f"{where}: curves.{row}"),
            (self.sampled_columns(dataset), f"{where}: sampled.{row}"),
        ):
            for column in columns:
                self._check_column(column, dataset, f"{place}: {column.heading}")
        for conventions, place in (
            (self.also(dataset), f"{where}: also.{row}"),
            (suite.ensembles.get(row, ()), f"{where}: ensembles.{row}"),
        ):
            for convention in conventions:
                self._check_convention(convention, place)
        names = [column.name for column in self.columns(dataset)]
        twice = next((column.name for column in own if names.count(column.name) > 1), None)
        if twice is not None:
            raise StpError(
                f"{self.config.declared[dataset]}: metrics: its table has a column {twice!r}",
                expected="columns with names of their own",
                remedy="take it out, or give it another heading",
            )
        wanted = [column.convention for column in self.columns(dataset)] + self.also(dataset)
        of_several = [
            *suite.ensembles.get(row, ()),
            *(column.convention for column in self.sampled_columns(dataset)),
        ]
        self._check_scored(dataset, row, {*wanted, *of_several}, where)
        wanted += of_several if samples > 1 else []
        self._conventions[dataset, samples > 1] = list(dict.fromkeys(wanted))
        return self._conventions[dataset, samples > 1]

    def _check_scored(self, dataset: str, row: str, scored: set[str], where: str) -> None:
        """Refuse columns of other tables and figures whose conventions are not scored."""
        suite = self.config.suite
        reproduced = suite.reproduction.get(dataset)
        further = [(f"curves.{row}", column) for column in self.curves(dataset)]
        if reproduced is not None:
            further += [(f"reproduction.{dataset}", one) for one in reproduced.columns]
        for place, column in further:
            if column.convention not in scored:
                raise StpError(
                    f"{where}: {place}: {column.heading}: {column.convention} is not scored",
                    expected=f"a convention of columns, sampled, also or ensembles of {row}",
                    remedy=f"name it under also.{row}",
                )

    def _check_convention(self, convention: str, where: str) -> None:
        """Refuse a convention that is not declared, or whose function has no such options."""
        found = find(convention, self.config.metrics, where)
        if self.metric(convention).available and convention not in self._checked:
            check_definition(found.definition, f"{where}: {convention}")
            self._checked.add(convention)

    def _check_column(self, column: Column, dataset: str, where: str) -> None:
        """Refuse a column of an unknown convention, or of a variable that the data do not have."""
        self._check_convention(column.convention, where)
        thresholds = self.convention(column.convention).definition.get("thresholds", ())
        if column.threshold is not None and thresholds and column.threshold not in thresholds:
            raise StpError(
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
        """The columns of a dataset's table: those of its suite, and those of its own."""
        row = self.config.suite.datasets.get(dataset, "")
        return (*self.config.suite.columns.get(row, ()), *self.config.datasets[dataset].metrics)

    def sampled_columns(self, dataset: str) -> tuple[Column, ...]:
        """Further columns of models that draw several forecasts."""
        return self.config.suite.sampled.get(self.config.suite.datasets.get(dataset, ""), ())

    def curves(self, dataset: str) -> tuple[Column, ...]:
        """Panels of the figure over lead time; none where columns are the panels."""
        return self.config.suite.curves.get(self.config.suite.datasets.get(dataset, ""), ())

    def also(self, dataset: str) -> list[str]:
        """Conventions that are scored besides those of a dataset's columns."""
        return list(self.config.suite.also.get(self.config.suite.datasets.get(dataset, ""), ()))

    def metric(self, convention: str) -> Metric:
        """What is known about the metric of a convention, such as ``ssim.range2``."""
        return self.config.metrics[convention.partition(".")[0]]

    def convention(self, name: str) -> Convention:
        """What is known about a convention."""
        return self.metric(name).conventions[_choice(name)]

    def _is_perceptual(self, convention: str) -> bool:
        """Does a network look at clips?"""
        about = self.convention(convention)
        return self.metric(convention).perceptual or about.network is not None

    def _is_higher_better(self, convention: str) -> bool | None:
        return self.metric(convention).is_higher_better(convention.partition(".")[2])

    def network(self, convention: str) -> str | None:
        """The network whose weights a convention needs, if it needs one."""
        about = self.convention(convention)
        if about.seen is not None and about.seed is not None:
            return None
        return about.weights or about.network

    def looks(self, convention: str) -> Seen | None:
        """What a distance between sets of clips is made from; None for all other conventions."""
        return self.convention(convention).seen

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
                if self._is_perceptual(name) == perceptual and not self.why_unavailable(name)
            ]
        return self._scored[key]


def _choice(convention: str) -> str:
    """``range2`` of ``ssim.range2``."""
    return convention.partition(".")[2]
