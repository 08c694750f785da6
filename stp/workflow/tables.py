"""Declare the tables that a run can make: inputs, and commands of `stp` that make them.

The suite declares what a table needs (`stp.plan.suite.MadeTable`), and the module of a table has
the name of the table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from stp.collect.published import read_published
from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.receipts import checksum
from stp.inspect.facts import table as facts
from stp.plan.artefacts import CellArtefacts
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, SUITE_FILE, config_file
from stp.plan.manifest import manifest_digest
from stp.plan.manifests import published_names
from stp.plan.suite import OF_ALL, FurtherTable, MadeTable, NamedTable, SuiteTable, ViewTable
from stp.profiling import DATASET
from stp.profiling.published import published_complexity
from stp.render.tables.by_name import module_of
from stp.render.tables.demands import demand_runs, is_reproduced
from stp.run.workflow_files import data_origins, results_of
from stp.studies.options import load_study

NO_DATA = "none: configuration and networks"
PAGES = ("md", "tex", "html")
PICTURES = ("png", "svg")
CONFIGURED = ("datasets", "models")
"""Folders of the configuration that tables of facts depend on, besides that of the suite."""


def demand_nothing() -> None:
    """Do nothing: the default of `Table.demand`, for tables that any scale can make.

    Other tables have a function in its place. It raises a StpError if the scale lacks what the
    table needs, such as trainings with several seeds.
    """


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that a Snakemake rule makes.

    Attributes:
        name: name of the table, and of its files.
        folder: path of the folder of its files.
        made_from: function that describes all inputs as JSON, such as their hashes; a change of
            this description outdates the table.
        arguments: arguments of `stp` that make the table, without ``--log``.
        ancient: paths of inputs whose modification times are ignored: manifests, receipts.
        inputs: paths of inputs that other rules make.
        endings: endings of the files besides the CSV file, such as ".md" and "_tidy.csv".
        captions: names of captions for `snakemake --report`; the first existing one is used.
        about: content of the table, as text.
        data_origin: origin of the data, e.g. "synthetic, scale demo".
        memory_mb: memory of the job, in MB.
        is_local: whether the job always runs beside Snakemake, even on a cluster.
        on_demand: whether the table is made only if it is requested, not among all tables of a
            scale.
        takes_configfile: whether the command gets the scale file.
        afterwards: words of the shell command that runs next: ``true`` for nothing, or the command
            that builds the results store again with the rows of the table.
        demand: function that raises a StpError if the scale lacks something that the table needs.
    """

    name: str
    folder: str
    made_from: Callable[[], Any]
    arguments: list[str]
    ancient: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    endings: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    about: str = ""
    data_origin: str = ""
    memory_mb: int = 2000
    is_local: bool = True
    on_demand: bool = False
    takes_configfile: bool = False
    afterwards: tuple[str, ...] = ("true",)
    demand: Callable[[], None] = demand_nothing

    @property
    def path(self) -> str:
        """Path of the CSV file of the table."""
        return f"{self.folder}/{self.name}.csv"

    @property
    def files(self) -> dict[str, str]:
        """Paths of all files of the table, by name in the rule, such as "table" or "md"."""
        ending_of_file = {
            ending.removesuffix(".csv").strip("_."): ending for ending in self.endings
        }
        further = {
            name: f"{self.folder}/{self.name}{ending}" for name, ending in ending_of_file.items()
        }
        return {"table": self.path, **further}

    @cached_property
    def digest(self) -> str:
        """Hash of all inputs of the table; a change outdates the table."""
        return digest(self.made_from())

    def lazy_digest(self, wildcards: object) -> str:
        """Return the `digest`, when Snakemake calls this method as a function of wildcards.

        A rule gets this method in place of the digest. So a process computes the digest only if it
        plans or makes the table, and not whenever it reads the Snakefile.

        Args:
            wildcards: not used; the path of a table has none.
        """
        return self.digest

    @property
    def is_possible(self) -> bool:
        """Whether a run of the scale file can make the table."""
        try:
            self.demand()
        except StpError:
            return False
        return True

    def configfile_options(self, wildcards: object, input: Any) -> list[str]:
        """Make the options of the table's command that name the scale file.

        The path of this file may differ between runs, which must not outdate the table. It is taken
        from ``input``, since Snakemake ignores changes of parameters that depend on inputs.

        Args:
            wildcards: not used.
            input: inputs of the rule; ``input.configfile`` is the path of the scale file.

        Returns:
            the options; empty if the command takes no scale file.
        """
        return ["--configfile", str(input.configfile)] if self.takes_configfile else []

    def required_inputs(self, wildcards: object) -> list[str]:
        """List the paths of the inputs of the table, as an input function of Snakemake.

        Raises:
            StpError: the scale lacks something that the table needs.
        """
        self.demand()
        return self.inputs


class Tables:
    """All tables that a run can make.

    Args:
        plan: plan of the scale.
        manifests: path of the manifest of each dimension, by name of the dimension.
    """

    def __init__(self, plan: Plan, manifests: Mapping[str, Path]) -> None:
        self.plan = plan
        self.suite, self.suite_name = plan.config.suite, plan.config.scale.suite
        self.results = results_of(plan)
        self.folder = f"{self.results}/tables"
        self.database = f"{self.results}/results.duckdb"
        self.manifests = {name: str(path) for name, path in manifests.items()}
        self.data_origins = data_origins(plan)
        self.suite_file = self.suite.folder / SUITE_FILE

    def __iter__(self) -> Iterator[Table]:
        yield from (self._of_dimension(name) for name in self.manifests)
        for dimension in self.manifests:
            for name, of_rows in self.suite.dimensions[dimension].tables.items():
                yield (self._study_table if of_rows.study else self._of_rows)(name, of_rows)
        for name, about in {**OF_ALL, **self.suite.tables}.items():
            if about.facts:
                yield self._of_facts(name, about)
            elif about.measured:
                yield self._profile_table(name, about)
            else:
                yield self._study_table(name, about) if about.study else self._of_store(name, about)
        for name, view in self.suite.view_tables.items():
            yield self._of_store(name, view)

    def _rows(self, *dimensions: str) -> list[str]:
        return [manifest_digest(Path(self.manifests[name])) for name in dimensions]

    def _code(self, *modules: str) -> str:
        return self.plan.sources.code_of(modules).fingerprint

    def _collected_files(self, dimensions: Iterable[str]) -> list[str]:
        return [f"{self.results}/collected/{name}.parquet" for name in dimensions]

    def _read(self, about: MadeTable) -> list[str]:
        return [f"{self.folder}/{name}.csv" for name in about.reads]

    def _of_dimension(self, name: str) -> Table:
        dimension = self.suite.dimensions[name]
        printed = f" (the paper's {dimension.printed})" if dimension.printed else ""
        return Table(
            name=name,
            folder=self.folder,
            made_from=lambda: [
                self._rows(name),
                self._code(module_of("paper_table")),
            ],
            arguments=["render", self.manifests[name], "--out", f"{self.folder}/{name}.csv"],
            ancient=[self.manifests[name]],
            inputs=self._collected_files([name]),
            endings=(
                "_tidy.csv",
                *(("_leads.csv",) if dimension.by_lead else ()),
                *(f".{page}" for page in PAGES),
            ),
            captions=("dimension",),
            about=f"{dimension.title}: {dimension.about}{printed}. {dimension.question}",
            data_origin=self.data_origins[name],
        )

    def _further(self, name: str, about: NamedTable, **more: Any) -> Table:
        drawn = isinstance(about, MadeTable) and about.drawn
        pages = (*PAGES, *(PICTURES if drawn else ()))
        defaults = {"data_origin": self.data_origins["all"], "captions": (name, "table")}
        return Table(
            name=name,
            folder=self.folder,
            about=about.about,
            **{"endings": tuple(f".{page}" for page in pages), **defaults, **more},
        )

    def _of_rows(self, name: str, about: FurtherTable) -> Table:
        dimension = self.suite.table_of(name)
        assert dimension is not None
        demands = {"seeds": self._demand_seeds, "printed": self._demand_printed}
        manifest, out = self.manifests[dimension], f"{self.folder}/{name}.csv"
        return self._further(
            name,
            about,
            made_from=lambda: [
                self._rows(dimension),
                self._code(module_of(name)),
                self._answers() if about.reads else [],
            ],
            arguments=["render", manifest, "--study", name, "--out", out],
            ancient=[manifest],
            inputs=[*self._collected_files([dimension]), *self._read(about)],
            demand=(lambda: demands[about.demands](name)) if about.demands else demand_nothing,
        )

    def _of_store(self, name: str, about: SuiteTable | ViewTable) -> Table:
        queries: list[Path] = []
        reads = [] if isinstance(about, ViewTable) else self._read(about)
        out = f"{self.folder}/{name}.csv"
        caption, module = name, ""
        if name == self.suite.findings:
            queries = self.suite.queries
            caption, module = "findings", "findings"
        elif name in self.suite.view_tables:
            queries = [self.suite_file]
            caption, module = "view", "view_table"
        return self._further(
            name,
            about,
            made_from=lambda: [
                self._rows(*self.manifests),
                self._code(module_of(module or name)),
                [checksum(path) for path in queries],
                self._answers() if reads else [],
            ],
            arguments=["table", name, "--database", self.database, "--out", out],
            ancient=list(self.manifests.values()),
            inputs=[*self._collected_files(self.manifests), *reads],
            captions=(caption, "table"),
        )

    def _study_table(self, name: str, about: MadeTable) -> Table:
        """The table of a study with people: of the best of several predictions, or of pairs."""
        assert about.study is not None
        study = config_file(CONFIG_FOLDER, about.study)
        dimension = self.suite.table_of(name)
        answers, key = self.answers, f"{self.results}/human_study/key.json"
        of_pairs = load_study(study).item == "pair"
        module = "stp.studies.pair_table" if of_pairs else "stp.studies.preferences_table"
        printed = [self.suite.published_file] if self.suite.published_file else []
        words = [
            "study",
            "preferences",
            *answers,
            "--key",
            key,
            "--out",
            f"{self.folder}/{name}.csv",
        ]
        endings = [f".{page}" for page in (*PAGES, *(PICTURES if about.drawn else ()))]
        return self._further(
            name,
            about,
            made_from=lambda: [
                self._rows(*([dimension] if dimension else [])),
                self._code(module),
                self._answers(),
                [checksum(path) for path in (study, *printed)],
            ],
            arguments=[*words, "--manifest", self.manifests[dimension]]
            if dimension
            else [*words, "--study", str(study)],
            ancient=[self.manifests[dimension]] if dimension else [],
            inputs=self._collected_files([dimension] if dimension else self.manifests),
            endings=(*(() if of_pairs else ("_agreement.csv",)), *endings),
            # A table of pairs without answers contains only the printed values.
            demand=demand_nothing if of_pairs else self._demand_answers,
            afterwards=("stp", "collect", "--database", self.database) if of_pairs else ("true",),
        )

    def _of_facts(self, name: str, about: SuiteTable) -> Table:
        source = about.facts
        assert source is not None
        scale = self.plan.config.scale.model_dump(mode="json", exclude={"runtime", "paths"})
        receipts = [data.receipt for data in self.plan.prepared_data if source.prepared]
        return self._further(
            name,
            about,
            made_from=lambda: [
                self._code(*facts.modules(self.plan, name)),
                self._config_checksums(),
                scale,
                receipts,
            ],
            arguments=["check", "facts", self.suite_name, "--table", f"{self.folder}/{name}.csv"],
            ancient=[f"{self.plan.store}/{receipt}" for receipt in receipts],
            captions=("facts",),
            data_origin=self.data_origins["all"] if source.prepared else NO_DATA,
            memory_mb=4000 if source.networks else 2000,
            is_local=not source.networks,
            takes_configfile=True,
        )

    def _profile_table(self, name: str, about: SuiteTable) -> Table:
        """The table of sizes and speeds of models; speeds are measured on this machine, which takes
        minutes.
        """
        scale = self.plan.config.scale.model_dump(mode="json", exclude={"runtime", "paths"})
        words = ["list", "models", "--configfile", str(CONFIG_FOLDER / "paper.yaml")]
        out = f"{self.folder}/{name}.csv"
        return self._further(
            name,
            about,
            made_from=lambda: [self._code("stp.profiling.table"), scale],
            arguments=[*words, "--table", out, "--measurements", "results/profile"],
            inputs=[
                f"results/profile/{model}/{DATASET}.json"
                for model in published_complexity(self.plan.config)
            ],
            data_origin=NO_DATA,
            on_demand=True,
        )

    def _config_checksums(self) -> dict[str, str]:
        """Checksums of the configuration files that tables of printed facts are made from."""
        folders = [*(CONFIG_FOLDER / name for name in CONFIGURED), self.suite.folder]
        files = [path for folder in folders for path in folder.iterdir() if path.is_file()]
        return {f"{file.parent.name}/{file.name}": checksum(file) for file in files}

    @property
    def answers(self) -> list[str]:
        """Paths of the CSV files with the answers of raters of the scale's human study."""
        return sorted(map(str, Path(f"{self.results}/human_study/answers").glob("*.csv")))

    def _answers(self) -> list[str]:
        return [checksum(Path(path)) for path in self.answers]

    def _demand_answers(self) -> None:
        if not self.answers:
            raise StpError(
                f"{self.results}/human_study/answers: no answers",
                expected="files that the questionnaire saved, *.csv",
                remedy="put the files of raters there; docs/human_study.md says how to get some",
            )

    def _demand_seeds(self, name: str) -> None:
        dimension = self.suite.table_of(name)
        assert dimension is not None
        scale = self.plan.config.scale
        models = scale.dimensions[dimension].models
        trained = [model for model in models if self.plan.config.models[model].fit == "sgd"]
        demand_runs([(m, len(scale.seeds)) for m in trained], f"the scale {scale.scale}")

    def _demand_printed(self, name: str) -> None:
        tables = {dataset: facts.table for dataset, facts in self.suite.reproduction.items()}
        published = read_published(self.suite.published_file)
        models = {(value.table, value.model) for value in published}
        names = published_names(self.plan.config)
        keys = [made.cell for made in self._cells(name)]
        if not any(is_reproduced(key, tables, models, names) for key in keys):
            raise StpError(
                f"the scale {self.plan.config.scale.scale} has no cell of the table {name}",
                expected=f"a model on one of {', '.join(tables)} that the paper reproduced",
                remedy="add some to the scale file",
            )

    def _cells(self, table: str) -> list[CellArtefacts]:
        dimension = self.suite.table_of(table)
        return [made for made in self.plan.cells if made.cell.dimension == dimension]
