"""Make the plan and write files at the start of a run, while Snakemake reads the Snakefile."""

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from stp.core.fingerprint import SOURCE_FOLDER, digest
from stp.core.project import WORKFLOW
from stp.core.receipts import checksum
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, Json
from stp.plan.manifest import manifest_digest
from stp.plan.suite import read_suites
from stp.render.figures.kinds import KINDS
from stp.run import input_digest, progress, snakemake_cli, workflow_files
from stp.run.cluster import failed_starts, groups, resume
from stp.run.cluster.site import Site
from stp.run.cluster.slurm_retry import wait_for_controller
from stp.run.restored_receipts import restore_receipts
from stp.run.results import RESULTS
from stp.studies.options import BEST_OF_FILE
from stp.workflow.figures import Figures
from stp.workflow.jobs import Ask, Jobs, require_dimension
from stp.workflow.tables import Table, Tables

TELL_NOTHING = ("Select jobs", "Execute ", "Reasons:")
"""Beginnings of Snakemake's messages that are hidden: commands print what they do, and reasons are
printed beside each job if jobs are listed."""
CONFIGFILE = "STP_CONFIGFILE"
"""Environment variable with the path of the scale file for the commands of jobs. The path is no
parameter of a rule: it differs between runs, so finished work would be repeated."""
COPIES = "results/tables"
"""Folder of the tables of the last run."""


def keep_quiet() -> None:
    """Reduce garbage collection and output of this process.

    Snakemake's job objects live as long as the plan; searching them repeatedly for garbage took a
    third of the time of planning.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    logging.getLogger("snakemake.logging").addFilter(
        lambda record: not str(record.msg).startswith(TELL_NOTHING)
    )


@dataclass(frozen=True)
class Run:
    """A run of the workflow, from which Snakemake's rules take paths, hashes and functions.

    Attributes:
        plan: the plan of the scale.
        site: the site where jobs run.
        jobs: inputs and resources of jobs.
        configfile: path of a copy of the scale file as this run has it, which all jobs read.
        manifests: path of the manifest of each dimension, by name of the dimension.
        is_main: whether this is the main process of Snakemake, not the process of a job.
    """

    plan: Plan
    site: Site
    jobs: Jobs
    configfile: Path
    manifests: Mapping[str, Path]
    is_main: bool

    @classmethod
    @snakemake_cli.exits_plainly()
    def begin(cls, workflow: Any, config: Json) -> "Run":
        """Make the plan and, in the main process, write the files that jobs and rules read.

        Args:
            workflow: the workflow of Snakemake (`snakemake.workflow.Workflow`).
            config: the configuration of the workflow: the content of the scale file, or empty for
                the demo. Values for captions are added to it.
        """
        keep_quiet()
        where = " and ".join(map(str, workflow.config_settings.configfiles))
        plan = Plan.load(config or CONFIG_FOLDER / "demo.yaml", where)
        site, is_main = Site.load(), workflow.is_main_process
        if is_main:
            wait_for_controller()
            failed_starts.watch(plan)
            groups.limit_cpus(site.group_jobs)
        run = cls(
            plan=plan,
            site=site,
            jobs=Jobs(plan, site, workflow.resource_settings.cores),
            configfile=workflow_files.write_config(plan),
            manifests=workflow_files.write_manifests(plan, is_main),
            is_main=is_main,
        )
        os.environ[CONFIGFILE] = str(run.configfile)
        if is_main:
            if not snakemake_cli.is_dry_run():
                workflow_files.write_last_run(plan)
            results = workflow_files.results_of(plan)
            folders = [folder for folder in results.glob("*/") if folder.name != "logs"]
            restore_receipts(plan)
            input_digest.write_outdated(
                *folders,
                Path(COPIES),
                *(RESULTS / name for name in ("plan", "profile")),
            )
            resume.tell_of_owner(Path.cwd())
        config["data_origin"] = run.data_origin
        config["captions"] = {"figures": {name: kind.caption for name, kind in KINDS.items()}}
        return run

    @property
    def results(self) -> str:
        """Path of the folder of results, such as ``results/demo``."""
        return str(workflow_files.results_of(self.plan))

    @property
    def database(self) -> str:
        """Path of the results store, such as ``results/demo/results.duckdb``."""
        return f"{self.results}/results.duckdb"

    @property
    def dimensions(self) -> list[str]:
        """Names of the dimensions of the scale."""
        return list(self.plan.config.scale.dimensions)

    @cached_property
    def data_origin(self) -> dict[str, str]:
        """The origin of the data of each dimension, e.g. "synthetic, scale demo", for captions.

        Keys are names of dimensions, and ``all`` for all dimensions together.
        """
        return workflow_files.data_origins(self.plan)

    def data_origin_of(self, wildcards: Any) -> str:
        """Look up the origin of the data of a figure, e.g. "synthetic, scale demo".

        Args:
            wildcards: name of the ``dimension``; without one, the origin is that of all dimensions.
        """
        return self.data_origin[wildcards.get("dimension") or "all"]

    @property
    def prepared_receipts(self) -> list[str]:
        """Paths of the receipts of all prepared data of the scale, for which jobs wait."""
        return [f"{self.plan.store}/{data.receipt}" for data in self.plan.prepared_data]

    def digest_of_data(self, wildcards: object) -> str:
        """Compute the hash of all inputs of the file ``data/all`` in the folder of results.

        This file lists the prepared data of the scale (`stp list datasets --prepared`). If the hash
        changes, the file is outdated.

        Args:
            wildcards: not used; the file has none.
        """
        return digest(self.prepared_receipts)

    def network_of(self, wildcards: Any) -> str:
        """Write the file that describes a network, and return its path.

        `stp profile` measures size and speed of this network. The file is written only if its
        content changed, so that Snakemake repeats the measurement only then.

        Args:
            wildcards: names of the ``model`` and the ``dataset``.
        """
        names = wildcards.model, wildcards.dataset
        return str(workflow_files.write_profile_input(*names, self.is_main))

    @cached_property
    def tables(self) -> dict[str, Table]:
        """All tables of the suite that is evaluated, by name.

        Among them are tables that the scale cannot make (`Table.is_possible`). They are not made,
        and a request for one is an error.
        """
        return {table.name: table for table in Tables(self.plan, self.manifests)}

    @cached_property
    def figures(self) -> Figures:
        """The figures that the run can draw."""
        return Figures(self.plan, self.manifests)

    @property
    def all_tables(self) -> list[str]:
        """Paths, in results/tables, of the tables that the scale can make.

        Tables that are made only if they are requested are left out.
        """
        tables = self.tables.values()
        made_here = [table for table in tables if table.is_possible and not table.on_demand]
        return [f"{COPIES}/{table.name}.csv" for table in made_here]

    @property
    def collected_files(self) -> list[str]:
        """Paths of the files of collected scores, one for each dimension."""
        return [f"{self.results}/collected/{name}.parquet" for name in self.manifests]

    def digest_of_rows(self, dimension: str) -> Ask:
        """Make a function of wildcards that returns the hash of a dimension's manifest.

        The collected scores of the dimension (rows of its table) depend on the manifest.

        Args:
            dimension: name of the dimension.
        """
        return lambda wildcards: manifest_digest(self.manifests[dimension])

    def _digest_of(self, module: str, files: Iterable[Path | str] = ()) -> str:
        rows = [manifest_digest(path) for path in self.manifests.values()]
        code = self.plan.sources.code_of([module]).fingerprint
        return digest([rows, code, [checksum(Path(path)) for path in files]])

    def digest_of_citation(self, wildcards: object) -> str:
        """Compute the hash of all inputs of the list of works to cite; a change outdates the list.

        Args:
            wildcards: not used; the list has none.
        """
        return self._digest_of("stp.export.cite", [CONFIG_FOLDER / "references.yaml"])

    def digest_of_report(self, wildcards: object) -> str:
        """Compute the hash of all inputs of the report; a change outdates the report.

        Args:
            wildcards: not used; the report has none.
        """
        page = sorted(path for path in (SOURCE_FOLDER / "stp/report/page").iterdir())
        return self._digest_of("stp.report.build", page)

    @property
    def of_raters(self) -> str | None:
        """Name of the dimension whose forecasts raters compare; None if there is none."""
        dimensions = self.plan.config.suite.dimensions.items()
        return next(
            (
                name
                for name, dimension in dimensions
                if any(table.study == self.study.name for table in dimension.tables.values())
            ),
            None,
        )

    @property
    def study(self) -> Path:
        """Path of the configuration of the study in which raters choose the best prediction."""
        return BEST_OF_FILE

    @property
    def paper(self) -> Path:
        """Path of the scale file that repeats PredBench.

        `stp profile` takes the networks that it measures from this file.
        """
        return CONFIG_FOLDER / "paper.yaml"

    def digest_of_questionnaire(self, wildcards: object) -> str:
        """Compute the hash of all inputs of the questionnaire; a change outdates the questionnaire.

        Args:
            wildcards: not used; the questionnaire has none.
        """
        manifest = self.manifests.get(self.of_raters or "")
        return digest([checksum(self.study), manifest_digest(manifest) if manifest else None])

    def table_path(self, wildcards: Any) -> str:
        """Find the path of a table of this run, which a rule copies to results/tables.

        Args:
            wildcards: name of the ``table``.

        Raises:
            StpError: the scale cannot make the table.
        """
        return self._table(wildcards.table).path

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            for suite in read_suites().values():
                dimension = name if name in suite.dimensions else suite.table_of(name)
                if dimension is not None:
                    require_dimension(self.plan, dimension)
            raise snakemake_cli.unknown_target(f"{COPIES}/{name}.csv", self.all_tables)
        return self.tables[name]

    def outdated_marker(self, path: str, digest_of: Callable[[Any], str]) -> Ask:
        """Make a function that tells Snakemake to redo a result whose inputs have changed.

        Snakemake compares modification times only. So the function compares the hash of the inputs
        with the hash that was noted beside the result. If they differ, it returns the file
        `OUTDATED` as a further input of the rule. This file is newer than all results.

        Args:
            path: path of the result, with wildcards.
            digest_of: function that computes a hash of the inputs from wildcards.

        Returns:
            function of wildcards that returns the further input, or none.
        """

        def outdated(wildcards: Any) -> list[str]:
            note = Path(input_digest.note_of(path).format(**wildcards))
            return (
                []
                if input_digest.is_current(note, digest_of(wildcards))
                else [str(input_digest.OUTDATED)]
            )

        return outdated

    def outdated_copy_marker(self, wildcards: Any) -> list[str]:
        """Tell Snakemake to redo the copy of a table in results/tables if it is outdated.

        Args:
            wildcards: name of the ``table``.

        Returns:
            a further input of the rule: the file `OUTDATED` (see `outdated_marker`); empty if
            the copy is current.
        """
        table = self._table(wildcards.table)
        copy = Path(f"{COPIES}/{table.name}.csv")
        return (
            [] if input_digest.is_copy_current(copy, table.digest) else [str(input_digest.OUTDATED)]
        )

    @snakemake_cli.exits_plainly()
    def check_targets(self, workflow: Any, targets: Iterable[str]) -> None:
        """Refuse requested targets that no rule makes, and tables that the scale cannot make.

        The error ends this process. In a dry run (``-n``), this method also makes Snakemake print
        its table of jobs once instead of twice.

        Args:
            workflow: the workflow of Snakemake.
            targets: names of the workflow's main targets. The error suggests the most similar one
                of these, of the tables and of the figures.
        """
        if snakemake_cli.is_dry_run():
            snakemake_cli.count_once()
        # A workflow that includes this one, or uses it as a module, may have more rules.
        if Path(workflow.main_snakefile).resolve() == WORKFLOW.resolve():
            requested = snakemake_cli.arguments().targets
            suggestions = [*self.all_tables, *self.figures.paths, *targets]
            snakemake_cli.check_targets(requested, workflow.rules, suggestions)
            for path in map(Path, requested):  # the rule of copies would make a table of any name
                if str(path.parent) == COPIES and path.suffix == ".csv":
                    self._table(path.stem).demand()

    @snakemake_cli.exits_plainly()
    def start(self, workflow: Any) -> bool:
        """Prepare for running jobs, after Snakemake has set the targets.

        A missing GPU is refused if jobs run on this machine. What the run has to make is recorded
        for its progress.

        Args:
            workflow: the workflow of Snakemake.

        Returns:
            whether jobs run on this machine, in the environment of this process.
        """
        if workflow.local_exec:
            snakemake_cli.check_device(self.plan.config.scale.runtime)
        workflow_files.write_counted(self.plan, workflow.dag_settings.targets)
        progress.write_pages(workflow)
        return workflow.local_exec and not workflow.deployment_settings.deployment_method

    @property
    def shell_prefix(self) -> str:
        """Prefix of the shell commands of jobs, so that they run `stp` of this environment.

        Jobs with an environment of their own run the `stp` of that environment.
        """
        return self.site.shell_prefix(Path(sys.executable).parent)
