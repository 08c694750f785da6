"""Schema of suites (benchmarks, each named after its paper), config/suites/<name>/suite.yaml."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from pydantic import PrivateAttr

from stp.core.errors import ConfigurationError, suggest_name
from stp.plan.checked_config import (
    CONFIG_FOLDER,
    SUITE_FILE,
    Json,
    Module,
    Name,
    Strict,
    check,
    check_name,
    config_file,
    entries,
    read_yaml,
)
from stp.plan.column import Columns, ConventionName, ReproducedColumn
from stp.plan.metric import Convention

PUBLISHED, FINDINGS = "published.csv", "findings"


class Reproduction(Strict):
    """A table in which a paper compares its own code with the code of each model's authors.

    It has the results of both on one dataset, such as Table 13 of PredBench on Moving-MNIST.

    Attributes:
        table: name of the table among the published values.
        columns: columns of the table, in the order of the paper.
    """

    table: str
    columns: tuple[ReproducedColumn, ...]


class Deviation(Strict):
    """A point on which a paper and its released code differ.

    Attributes:
        about: subject, in a few words.
        paper: statement of the paper.
        code: behaviour of the released code, which the protocol named after the paper follows.
        strict: behaviour of the protocol `strict` or, in a suite without protocols, of stp.
        dimensions: dimensions whose tables print the point; all unless set.
    """

    about: str
    paper: str
    code: str
    strict: str
    dimensions: tuple[str, ...] = ()


class FactPage(Strict):
    """Layout of a table of facts as a page of text; the CSV file always has all columns and rows.

    Attributes:
        sections: columns whose values become headings of sections.
        columns: columns that are shown; all unless set.
        across: [key column, value column] of a pivot: rows that agree in all other columns become
            one row, with a column for each value of the key column.
        notes: text above the rows.
        legend: text below the rows.
    """

    sections: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    across: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


class FactSource(Strict):
    """Facts that a paper prints about its benchmark, which are compared with the facts of stp.

    Attributes:
        source: module of stp.inspect.facts that computes the facts of stp.
        file: file with the printed facts, in the folder of the suite.
        key: columns that identify a row.
        prepared: whether prepared data are counted.
        networks: whether networks are built; the table then depends on their code.
        options: options of the module `source`.
        page: layout of the table as a page.
    """

    source: Module
    file: str
    key: tuple[str, ...]
    prepared: bool = False
    networks: bool = False
    options: Json = {}
    page: FactPage = FactPage()


class NamedTable(Strict):
    """A table of a suite (benchmark) that is not the main table of a dimension (question).

    Attributes:
        about: content of the table, in a few words.
        printed: where the paper prints the table; empty if nowhere.
    """

    about: str
    printed: str = ""


class MadeTable(NamedTable):
    """A table that is made by the module of the same name.

    Attributes:
        drawn: whether the module also draws a figure.
        reads: names of other tables of the suite that are made before this one.
        study: file in config/ of the human study whose answers the table shows.
    """

    drawn: bool = False
    reads: tuple[str, ...] = ()
    study: str | None = None


class FurtherTable(MadeTable):
    """A further table of a dimension (question), made from the rows of its main table.

    Attributes:
        demands: what a scale must have for the table: ``seeds``, enough seeds for a study of
            repeated runs; or ``printed``, cells of which the paper prints values in a table that
            compares its code with that of the models' authors (`reproduction` of the suite). Null
            if nothing is needed.
    """

    demands: Literal["seeds", "printed"] | None = None


class SuiteTable(MadeTable):
    """A table of a suite that belongs to no dimension; made from the results store by default.

    Attributes:
        facts: source of the rows, if it is a table of facts that the paper prints.
        measured: whether the table measures speeds on this machine; it is then made on demand only.
    """

    facts: FactSource | None = None
    measured: bool = False

    @property
    def from_store(self) -> bool:
        """Whether the table is made from the results store.

        It is not if it is a table of facts, of measured speeds, or of answers of a human study.
        """
        return self.facts is None and self.study is None and not self.measured


class ViewTable(NamedTable):
    """A table that is a view of the results store.

    Attributes:
        sections: columns whose values become headings of sections on pages.
        pages: SQL condition on the rows shown on pages; all rows unless set. The CSV file has all
            rows.
    """

    sections: tuple[str, ...] = ()
    pages: str = ""


class Dimension(Strict):
    """A dimension of a suite's evaluation: cells that answer one question in one table.

    Attributes:
        title: name in reports and cards.
        question: question that the table of the dimension answers.
        about: content of the dimension's table, in a few words.
        printed: place of the table in the paper, such as "Tables 2-6"; empty if the paper has no
            such table.
        figures: kinds of figures (`stp.render.figures.kinds`) that are drawn if cells have the
            values for them.
        by_lead: whether a further table shows scores at each lead time.
        are_rivals: whether rows compete to be the best. Distorted clips, which show what a metric
            notices, do not.
        changes_from: dimension with the tests that this dimension's tests are compared with, for
            the same trained models; null without a comparison. Tests on unseen cities, in
            ``generalization``, are compared with tests in ``short_term`` on the dataset of the
            training. ``robustness`` names itself: its tests at several frame intervals are compared
            with each other. Distances between sets of clips are computed again for the comparison,
            from equal numbers of clips.
        controls: dimension with control forecasts (single forecasts) of the models that have
            ensembles in this dimension, such as ``s2s_control`` for ``s2s_ensemble``; null without
            one. The figure ``gain`` divides scores of the ensembles by those of the single
            forecasts with the same name in the paper.
        own_data: task, such as frames; `stp new-dataset` drafts users' own datasets of this task
            into this dimension. A scale file without dimensions belongs to the suite with
            ``own_data: frames``.
        tables: further tables made from the rows of the dimension's table, by name.
    """

    title: str
    question: str
    about: str
    printed: str = ""
    figures: tuple[str, ...] = ()
    by_lead: bool = False
    are_rivals: bool = True
    changes_from: str | None = None
    controls: str | None = None
    own_data: str | None = None
    tables: dict[str, FurtherTable] = {}


class Suite(Strict):
    """A suite, the benchmark of one paper (config/suites/<name>/suite.yaml).

    The published values of its paper are in ``published.csv`` beside this file.

    Attributes:
        title: title of the suite.
        protocol: name of the scale file in config/ with the paper's protocol.
        findings: name of the table of findings, whose queries lie in ``findings/`` beside this
            file; null without findings.
        not_printed: subsets in the scale file of the protocol that the paper does not have.
        views: the suite's own views of the results store, in the order in which they are created:
            files of SQL in ``views/`` beside this file.
        tables: tables of the suite that belong to no dimension, by name.
        view_tables: views that are also tables of the suite, by name.
        dimensions: dimensions by name, in the order of reports.
        columns: columns of tables, by group of datasets, such as ``video``; all datasets of a group
            have the same columns (see `datasets`).
        also: further conventions that are computed although no column shows them, by group of
            datasets.
        ensembles: further conventions that are computed if a clip has several forecasts, by group
            of datasets.
        curves: panels of the figures that show scores over lead time, by group of datasets; without
            them, the columns of the group are the panels. Their conventions have to be computed
            (see `also`). Published values at single lead times are drawn as well.
        datasets: name of the group that each dataset belongs to, by dataset.
        definitions: conventions of this suite alone, by name, <metric>.<choice>; see the files of
            config/conventions.
        reproduction: table that compares the paper's code with that of the models' authors, by
            dataset.
        sampled: columns for models that draw several forecasts of a clip, by group of datasets.
            They are added to `columns`, in place of those that show the same values. In a heading,
            {K} stands for the number of forecasts, such as ``100``; {members} for how several
            forecasts are scored, such as ``best-of-100``; {seen} for the forecast that distances
            between sets use, such as ``first-of-100`` (docs/forecasts.md).
        absent: reason why a method of the paper has no values in stp, by method.
        deviations: differences between the paper and its code, which tables print.
    """

    title: str
    protocol: str | None = None
    findings: str | None = None
    not_printed: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    tables: dict[str, SuiteTable] = {}
    view_tables: dict[str, ViewTable] = {}
    dimensions: dict[Name, Dimension]
    columns: dict[str, Columns]
    also: dict[str, tuple[str, ...]] = {}
    ensembles: dict[str, tuple[str, ...]] = {}
    curves: dict[str, Columns] = {}
    datasets: dict[str, str]
    definitions: dict[ConventionName, Convention] = {}
    reproduction: dict[str, Reproduction] = {}
    sampled: dict[str, Columns] = {}
    absent: dict[str, str] = {}
    deviations: tuple[Deviation, ...] = ()
    _folder: Path = PrivateAttr(default=CONFIG_FOLDER)

    @property
    def published_file(self) -> Path | None:
        """The file of the published values; None without one."""
        return file if (file := self.folder / PUBLISHED).is_file() else None

    @property
    def folder(self) -> Path:
        """The folder of the files of the suite (benchmark): config/suites/<name>."""
        return self._folder

    @property
    def queries(self) -> list[Path]:
        """The SQL files that judge the paper's findings (statements), in order; may be empty."""
        return sorted((self.folder / FINDINGS).glob("*.sql")) if self.findings else []

    def all_tables(self) -> dict[str, NamedTable]:
        """All tables of the suite (benchmark), by name.

        The main tables of all dimensions come first. They are followed by the further tables of
        dimensions, and by the tables that belong to no dimension.
        """
        tables: dict[str, NamedTable] = {
            name: NamedTable(about=dimension.about, printed=dimension.printed)
            for name, dimension in self.dimensions.items()
        }
        for dimension in self.dimensions.values():
            tables |= dimension.tables
        return {**tables, **self.tables, **self.view_tables}

    def table_of(self, table: str) -> str | None:
        """The dimension (question with a main table) from whose rows a further table is made.

        Returns:
            the name of the dimension; None if ``table`` is not a further table of a dimension.
        """
        return next(
            (name for name, dimension in self.dimensions.items() if table in dimension.tables), None
        )


def read_suites(folder: Path = CONFIG_FOLDER / "suites") -> dict[str, Suite]:
    """Read the configuration of all suites (benchmarks), in the order of their names.

    Raises:
        ConfigurationError: a file is wrong, or two suites have tables with the same name.
    """
    paths = entries(folder.name, folder.parent)
    for name, path in paths.items():
        check_name(name, "suite", path)
    suites = {name: read_suite(path) for name, path in paths.items()}
    owner: dict[str, str] = {}
    for name, suite in suites.items():
        for table in suite.all_tables():
            first = owner.setdefault(table, name)
            if first != name:
                raise ConfigurationError(
                    f"{paths[name]}: the suite {first} has a table {table}, too",
                    expected="names of tables that are unique over suites",
                )
    return suites


OF_ALL = {
    "convention_effects": SuiteTable(
        about="how far the choice of a convention moves ranks", printed="none"
    )
}
"""Tables of every suite."""


def suite_for(dimensions: Collection[str], suites: Mapping[str, Suite]) -> str:
    """Find the suite (benchmark) of a scale file that does not name it.

    Args:
        dimensions: names of the dimensions in the scale file.
        suites: suites by name.

    Returns:
        name of the first suite that has one of these dimensions. If none has, name of the default
        suite, into which `stp new-dataset` drafts datasets of frames (`draft_for`).
    """
    owners = (
        name for name, suite in suites.items() if not suite.dimensions.keys().isdisjoint(dimensions)
    )
    return next(owners, None) or draft_for("frames", suites)[0]


def draft_for(kind: str, suites: Mapping[str, Suite] | None = None) -> tuple[str, str]:
    """Find the suite (benchmark) and dimension to which `stp new-dataset` adds users' own data.

    Args:
        kind: name of the task, such as frames.
        suites: suites by name; by default all suites of the configuration.

    Returns:
        names of the suite and of its dimension.

    Raises:
        ConfigurationError: no dimension takes own data of this task.
    """
    for name, suite in (read_suites() if suites is None else suites).items():
        for dimension, declared in suite.dimensions.items():
            if declared.own_data == kind:
                return name, dimension
    raise ConfigurationError(
        f"no suite takes own data of the kind {kind}",
        expected=f"a dimension with `own_data: {kind}` in config/suites",
        remedy="name the suite in the scale file",
    )


def suites_with(table: str) -> dict[str, Suite]:
    """Find the suite (benchmark) with a certain table that belongs to no dimension.

    Args:
        table: name of the table, a key of `tables` in the suite's file.

    Returns:
        the suite, by its name; empty if no suite has such a table. There is never more than one,
        since names of tables are unique over suites.
    """
    return {name: suite for name, suite in read_suites().items() if table in suite.tables}


def suite_file(name: str) -> Path:
    """Path of the configuration of a suite (benchmark), which need not exist."""
    return config_file(CONFIG_FOLDER, "suites", name, SUITE_FILE)


def read_suite(path: Path) -> Suite:
    """Read the configuration of one suite (benchmark).

    Raises:
        ConfigurationError: the suite does not exist, or its file is wrong.
    """
    if not path.is_file():
        name, suites = path.parent.name, list(entries("suites"))
        raise ConfigurationError(
            f"unknown suite {name!r}: no {path}", remedy=suggest_name(name, suites)
        )
    suite = check(Suite, read_yaml(path), str(path))
    suite._folder = path.parent
    return suite
