"""A suite of experiments, named after its paper: config/suites/<name>/suite.yaml."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from pydantic import PrivateAttr

from stp.core.errors import StpError, nearest
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
    """A table of what the paper reproduced on one dataset with the original code.

    Attributes:
        table: its name among the published values.
        columns: its columns, in the order of the paper.
    """

    table: str
    columns: tuple[ReproducedColumn, ...]


class Deviation(Strict):
    """A point on which a paper and its released code differ.

    Attributes:
        about: what it is about, in a few words.
        paper: what the paper says.
        code: what the released code does, and the protocol named after the paper.
        strict: what the protocol `strict` does; of a suite without protocols, what is done here.
        dimensions: whose tables say so; all unless set.
    """

    about: str
    paper: str
    code: str
    strict: str
    dimensions: tuple[str, ...] = ()


class FactPage(Strict):
    """How the pages of a table of facts are laid out; the CSV file has all columns and rows.

    Attributes:
        sections: columns whose values head the sections.
        columns: that are shown, all of them unless set.
        across: [column, its value]: a row for all facts that are alike in `columns`, with a place
            for each value of the first column, in which that of the second one stands.
        notes: what is said above the rows.
        legend: what is said below them.
    """

    sections: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    across: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


class FactSource(Strict):
    """What a paper prints of its benchmark, to be compared with ours.

    Attributes:
        source: module of stp.inspect.facts that knows ours.
        file: of what is printed, beside this file.
        key: columns that name a row.
        prepared: whether prepared data are counted.
        networks: whether networks are built, so that their code makes the table.
        options: of the source; see there.
        page: how pages are laid out.
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
        about: what is in it, in a few words.
        printed: where the paper has it; empty if nowhere.
    """

    about: str
    printed: str = ""


class MadeTable(NamedTable):
    """A table that a module of its name makes.

    Attributes:
        about: what is in it, in a few words.
        printed: where the paper has it; empty if nowhere.
        drawn: whether there is a figure beside it.
        reads: other tables of the suite that are made before it.
        study: the file of the study of people, in config/, whose answers it is made from.
    """

    drawn: bool = False
    reads: tuple[str, ...] = ()
    study: str | None = None


class FurtherTable(MadeTable):
    """A table that is made from the rows of a dimension.

    Attributes:
        about: what is in it, in a few words.
        printed: where the paper has it; empty if nowhere.
        drawn: whether there is a figure beside it.
        reads: other tables of the suite that are made before it.
        study: the file of the study of people, in config/, whose answers it is made from.
        demands: what a scale must have for it: `seeds` enough for a study of repeated runs, or
            cells of `printed` tables of what was reproduced.
    """

    demands: Literal["seeds", "printed"] | None = None


class SuiteTable(MadeTable):
    """A table of the suite, whatever its dimensions: of the results store, unless it says more.

    Attributes:
        about: what is in it, in a few words.
        printed: where the paper has it; empty if nowhere.
        drawn: whether there is a figure beside it.
        reads: other tables of the suite that are made before it.
        study: the file of the study of people, in config/, whose answers it is made from.
        facts: where its rows come from, if they are facts that the paper prints.
        measured: whether speeds are measured for it on this machine, so that it is made on demand
            only.
    """

    facts: FactSource | None = None
    measured: bool = False

    @property
    def from_store(self) -> bool:
        """Whether it is made from the results store."""
        return self.facts is None and self.study is None and not self.measured


class ViewTable(NamedTable):
    """A table that is a view of the results store.

    Attributes:
        about: what is in it, in a few words.
        printed: where the paper has it; empty if nowhere.
        sections: columns whose values head the sections of its pages.
        pages: a condition in SQL on the rows of its pages, all unless set; the CSV file has all.
    """

    sections: tuple[str, ...] = ()
    pages: str = ""


class Dimension(Strict):
    """A dimension of a suite's evaluation: cells that answer one question in one table.

    Attributes:
        title: what reports and cards call it.
        question: what its table answers.
        about: what is in its table, in a few words.
        printed: where the paper has it: "Tables 2-6"; empty if nowhere.
        figures: kinds of figures (`stp.render.figures.kinds`) that are drawn of it, where its cells
            have what they show.
        by_lead: whether scores at each lead time have a table of their own.
        are_rivals: whether its rows compete to be the best. Distorted clips, which show what a
            metric notices, do not.
        changes_from: the dimension whose tests of the same trainings are what its own are compared
            with at equal numbers of clips; itself, where its own tests are compared.
        controls: the dimension of the single forecasts of what has ensembles here; a pair has one
            name in the paper.
        own_data: the kind of sample, such as frames, of which data of one's own are drafted into
            this dimension; a scale file without dimensions belongs to the suite of frames.
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
    """All that is particular to a suite (config/suites/<name>/suite.yaml).

    What its paper prints is in ``published.csv`` beside this file, if it is there.

    Attributes:
        title: of the suite.
        protocol: the scale file of the paper's protocol, in config/.
        findings: the table of its findings, whose queries lie in ``findings/`` beside this file;
            None if it has none.
        not_printed: subsets of its protocol's scale file that are ours, and not the paper's.
        views: views of the results store that are the suite's own, in the order in which they are
            made: files of SQL in ``views/`` beside this file.
        tables: further tables that the suite has, whatever its dimensions, by name.
        view_tables: views that are tables of the suite besides, by name.
        dimensions: in the order in which reports show them.
        columns: group of datasets -> columns of its tables.
        also: group -> further conventions that are scored.
        ensembles: group -> conventions that are scored besides of several forecasts of a clip.
        curves: group -> panels of the figure of scores over lead time, instead of its columns:
            columns of conventions that are scored. Values that are printed for single lead times
            under their headings are drawn beside them.
        datasets: dataset -> its group.
        definitions: conventions of its own, by their names, <metric>.<choice>; see the files of
            config/conventions.
        reproduction: dataset -> its table of what was reproduced.
        sampled: group -> columns of models that draw several forecasts, besides the others or,
            where they show the same, instead of them. {K} in a heading stands for their number,
            {members} for what is made of them (``best-of-100``), {seen} for the one that distances
            between sets of clips see (``first-of-100``).
        absent: method of the paper without values here -> why.
        deviations: what tables say of the paper and its code.
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
        """The file of the paper's values; None if there is none."""
        return file if (file := self.folder / PUBLISHED).is_file() else None

    @property
    def folder(self) -> Path:
        """Where its files are: config/suites/<name>."""
        return self._folder

    @property
    def queries(self) -> list[Path]:
        """The files of its findings, in their order."""
        return sorted((self.folder / FINDINGS).glob("*.sql")) if self.findings else []

    def all_tables(self) -> dict[str, NamedTable]:
        """All tables, those of the dimensions first: what is in each, and where it is printed."""
        found: dict[str, NamedTable] = {
            name: NamedTable(about=of.about, printed=of.printed)
            for name, of in self.dimensions.items()
        }
        for of in self.dimensions.values():
            found |= of.tables
        return {**found, **self.tables, **self.view_tables}

    def table_of(self, table: str) -> str | None:
        """The dimension that a further table is made from."""
        return next((name for name, of in self.dimensions.items() if table in of.tables), None)


def read_suites(folder: Path = CONFIG_FOLDER / "suites") -> dict[str, Suite]:
    """Read all suites, in the order of their names.

    Raises:
        StpError: a file is wrong, or two suites have a table of one name.
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
                raise StpError(
                    f"{paths[name]}: the table {table} is one of {first}, too",
                    expected="names of tables that are unique over suites",
                    remedy="rename one of the two",
                )
    return suites


OF_ALL = {
    "convention_effects": SuiteTable(
        about="how far the choice of a convention moves ranks", printed="none"
    )
}
"""Tables of every suite."""


def suite_for(dimensions: Collection[str], suites: Mapping[str, Suite]) -> str:
    """Name the suite of a scale file that names none: that of its dimensions."""
    owners = (
        name for name, suite in suites.items() if not suite.dimensions.keys().isdisjoint(dimensions)
    )
    return next(owners, None) or draft_for("frames", suites)[0]


def draft_for(kind: str, suites: Mapping[str, Suite] | None = None) -> tuple[str, str]:
    """Name the suite and its dimension that data of one's own are drafted into.

    Args:
        kind: of sample, such as frames.
        suites: all, unless given.

    Raises:
        StpError: there is none.
    """
    for name, suite in (read_suites() if suites is None else suites).items():
        for dimension, of in suite.dimensions.items():
            if of.own_data == kind:
                return name, dimension
    raise StpError(
        f"no suite takes data of one's own of the kind {kind}",
        expected=f"a dimension with `own_data: {kind}` in config/suites",
        remedy="name the suite in the scale file",
    )


def suites_with(table: str) -> dict[str, Suite]:
    """The suite that has a further table of its own, by its name; empty if a project has none."""
    return {name: suite for name, suite in read_suites().items() if table in suite.tables}


def suite_file(name: str) -> Path:
    """The file of a suite, which need not exist."""
    return config_file(CONFIG_FOLDER, "suites", name, SUITE_FILE)


def read_suite(path: Path) -> Suite:
    """Read one suite.

    Raises:
        StpError: there is no such suite, or its file is wrong.
    """
    if not path.is_file():
        name, known = path.parent.name, list(entries("suites"))
        raise StpError(f"unknown suite {name!r}: no {path}", remedy=nearest(name, known))
    suite = check(Suite, read_yaml(path), str(path))
    suite._folder = path.parent
    return suite
