"""Suites of experiments: config/suites/<name>/suite.yaml."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from pydantic import PrivateAttr

from stp.core.errors import ConfigurationError, nearest
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
    """The paper's table of results on one dataset, reproduced with the original code.

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
        code: behaviour of the released code, and of the protocol named after the paper.
        strict: behaviour of the protocol `strict`; of a suite without protocols, that of stp.
        dimensions: dimensions in whose tables the point is printed; all unless set.
    """

    about: str
    paper: str
    code: str
    strict: str
    dimensions: tuple[str, ...] = ()


class FactPage(Strict):
    """Layout of the pages of a table of facts; the CSV file has all columns and rows.

    Attributes:
        sections: columns whose values head the sections.
        columns: columns that are shown; all unless set.
        across: [column, column of values]: one row for all facts that agree in `columns`, with a
            column for each value of the first one, which holds the value of the second one.
        notes: text above the rows.
        legend: text below the rows.
    """

    sections: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    across: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


class FactSource(Strict):
    """Facts that a paper prints about its benchmark, for comparison with those of stp.

    Attributes:
        source: module of stp.inspect.facts with the facts of stp.
        file: file of the printed facts, beside this file.
        key: columns that identify a row.
        prepared: whether prepared data are counted.
        networks: whether networks are built, so that the table depends on their code.
        options: options of the source; see there.
        page: layout of the pages.
    """

    source: Module
    file: str
    key: tuple[str, ...]
    prepared: bool = False
    networks: bool = False
    options: Json = {}
    page: FactPage = FactPage()


class NamedTable(Strict):
    """A table besides those of the dimensions.

    Attributes:
        about: content of the table, in a few words.
        printed: where the paper prints the table; empty if nowhere.
    """

    about: str
    printed: str = ""


class MadeTable(NamedTable):
    """A table that is made by a module with the same name.

    Attributes:
        drawn: whether a figure is drawn beside the table.
        reads: other tables of the suite, which are made first.
        study: file in config/ of the human study from whose answers the table is made.
    """

    drawn: bool = False
    reads: tuple[str, ...] = ()
    study: str | None = None


class FurtherTable(MadeTable):
    """A table that is made from the rows of a dimension.

    Attributes:
        demands: what a scale must have for it: enough `seeds` for a study of repeated runs, or
            cells of the `printed` tables of reproductions.
    """

    demands: Literal["seeds", "printed"] | None = None


class SuiteTable(MadeTable):
    """A table of a suite that belongs to no dimension; made from the results store by default.

    Attributes:
        facts: source of the rows, if they are facts that the paper prints.
        measured: whether speeds are measured on this machine for the table, which is then made on
            demand only.
    """

    facts: FactSource | None = None
    measured: bool = False

    @property
    def from_store(self) -> bool:
        """Whether the table is made from the results store."""
        return self.facts is None and self.study is None and not self.measured


class ViewTable(NamedTable):
    """A table that is a view of the results store.

    Attributes:
        sections: columns whose values head the sections of its pages.
        pages: condition in SQL on the rows of its pages; all unless set. The CSV file has all.
    """

    sections: tuple[str, ...] = ()
    pages: str = ""


class Dimension(Strict):
    """A dimension of a suite's evaluation: cells that answer one question in one table.

    Attributes:
        title: name in reports and cards.
        question: question that the table of the dimension answers.
        about: content of its table, in a few words.
        printed: where the paper prints it, such as "Tables 2-6"; empty if nowhere.
        figures: kinds of figures (`stp.render.figures.kinds`) that are drawn, where its cells have
            their values.
        by_lead: whether there is a table of scores at each lead time.
        are_rivals: whether its rows compete to be the best. Distorted clips, which show what a
            metric notices, do not.
        changes_from: dimension whose tests of the same trainings its own are compared with, at
            equal numbers of clips; itself, if its own tests are compared with each other.
        controls: dimension of the single forecasts of models that have ensembles here; a pair has
            one name in the paper.
        own_data: task, such as frames, whose own datasets are drafted into this dimension; a scale
            file without dimensions belongs to the suite of frames.
        tables: further tables that are made from its rows, by name.
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
    """A suite (config/suites/<name>/suite.yaml).

    The published values of its paper are in ``published.csv`` beside this file.

    Attributes:
        title: title of the suite.
        protocol: scale file of the paper's protocol, in config/.
        findings: table of its findings, whose queries lie in ``findings/`` beside this file; null
            if it has none.
        not_printed: subsets in the scale file of its protocol that the paper does not have.
        views: the suite's own views of the results store, in the order in which they are created:
            files of SQL in ``views/`` beside this file.
        tables: tables of the suite that belong to no dimension, by name.
        view_tables: views that are also tables of the suite, by name.
        dimensions: dimensions by name, in the order of reports.
        columns: columns of tables, by group of datasets.
        also: further conventions that are scored, by group of datasets.
        ensembles: further conventions that are scored for several forecasts of a clip, by group of
            datasets.
        curves: panels of the figure of scores over lead time, by group of datasets, which replace
            the columns of the group: columns of conventions that are scored. Published values at
            single lead times under these headings are drawn beside them.
        datasets: name of the group of each dataset, by dataset.
        definitions: conventions of its own, by their names, <metric>.<choice>; see the files of
            config/conventions.
        reproduction: table of reproduced results, by dataset.
        sampled: further columns for models that draw several forecasts, by group of datasets; they
            replace columns with the same values. {K} in a heading stands for the number of
            forecasts, {members} for the scored statistic (``best-of-100``), {seen} for the forecast
            in distances between sets of clips (``first-of-100``).
        absent: reason why a method of the paper has no values here, by method.
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
        """The folder of the suite's files: config/suites/<name>."""
        return self._folder

    @property
    def queries(self) -> list[Path]:
        """The SQL files of the suite's findings, in their order; empty without findings."""
        return sorted((self.folder / FINDINGS).glob("*.sql")) if self.findings else []

    def all_tables(self) -> dict[str, NamedTable]:
        """All tables by name, those of the dimensions first."""
        tables: dict[str, NamedTable] = {
            name: NamedTable(about=dimension.about, printed=dimension.printed)
            for name, dimension in self.dimensions.items()
        }
        for dimension in self.dimensions.values():
            tables |= dimension.tables
        return {**tables, **self.tables, **self.view_tables}

    def table_of(self, table: str) -> str | None:
        """The dimension whose rows a further table is made from; None for other tables."""
        return next(
            (name for name, dimension in self.dimensions.items() if table in dimension.tables), None
        )


def read_suites(folder: Path = CONFIG_FOLDER / "suites") -> dict[str, Suite]:
    """Read all suites, in the order of their names.

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
    """The suite of a scale file that names none: that of its dimensions."""
    owners = (
        name for name, suite in suites.items() if not suite.dimensions.keys().isdisjoint(dimensions)
    )
    return next(owners, None) or draft_for("frames", suites)[0]


def draft_for(kind: str, suites: Mapping[str, Suite] | None = None) -> tuple[str, str]:
    """The suite and dimension into which a user's own data are drafted.

    Args:
        kind: name of the task, such as frames.
        suites: suites by name; all suites of the configuration unless given.

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
    """The suite with a table that belongs to no dimension, by its name; empty without one."""
    return {name: suite for name, suite in read_suites().items() if table in suite.tables}


def suite_file(name: str) -> Path:
    """The file of a suite, which need not exist."""
    return config_file(CONFIG_FOLDER, "suites", name, SUITE_FILE)


def read_suite(path: Path) -> Suite:
    """Read one suite.

    Raises:
        ConfigurationError: there is no such suite, or its file is wrong.
    """
    if not path.is_file():
        name, suites = path.parent.name, list(entries("suites"))
        raise ConfigurationError(f"unknown suite {name!r}: no {path}", remedy=nearest(name, suites))
    suite = check(Suite, read_yaml(path), str(path))
    suite._folder = path.parent
    return suite
