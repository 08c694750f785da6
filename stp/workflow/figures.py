"""Declare the figures (of scores, forecasts, people) that a run can draw, and their inputs.

There are hundreds of figures, so rules have wildcards: one rule for each kind of file name.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stp.core.fingerprint import digest
from stp.plan.cells import Plan
from stp.plan.manifest import manifest_digest
from stp.render.figures.kinds import KINDS
from stp.render.figures.planned import figures
from stp.run.workflow_files import results_of
from stp.tasks.task import Task
from stp.workflow.jobs import require_dimension

DRAWN = ("dimension", "cells", "names", "tables")
"""Parts of a manifest that pictures depend on."""


@dataclass(frozen=True)
class FigureRule:
    """A Snakemake rule that draws figures of one kind.

    Attributes:
        name: name of the rule.
        figure: path of the files without their endings, with wildcards.
        endings: endings of the files, such as "png" and "svg". A job of the rule draws all of these
            files; a run asks for the first one only (`Figures.paths`).
        arguments: arguments of `stp draw`, with wildcards; ``{manifest}`` stands for the path of
            the manifest.
        caption: name of the caption for `snakemake --report`.
        labels: labels in that report, by their heading, besides the origin of the data.
        subcategory: subcategory of the figure in that report; None for none.
        category: category of the figure in that report.
        constraints: regular expressions of wildcards, by name of the wildcard.
    """

    name: str
    figure: str
    endings: tuple[str, ...]
    arguments: tuple[str, ...]
    caption: str
    labels: Mapping[str, str]
    subcategory: str | None = "{dimension}"
    category: str = "Pictures of forecasts"
    constraints: Mapping[str, str] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, str]:
        """Paths of all files that the rule draws, by ending."""
        return {ending: f"{self.figure}.{ending}" for ending in self.endings}

    @property
    def log(self) -> str:
        """Path of the log of the jobs of the rule, with wildcards."""
        return f"{self.figure.replace('/figures/', '/logs/figures/')}.log"

    @property
    def outputs(self) -> list[str]:
        """Options ``--out`` of `stp draw` for all files of a figure.

        An SVG file beside a PNG file needs no option.
        """
        endings = self.endings if "png" not in self.endings or len(self.endings) > 2 else ("png",)
        return [word for ending in endings for word in ("--out", f"{self.figure}.{ending}")]


@dataclass(frozen=True)
class Figures:
    """All figures that a run can draw, and the rules that draw them.

    Args:
        plan: the plan of the scale.
        manifests: path of the manifest of each dimension, by name of the dimension.
    """

    plan: Plan
    manifests: Mapping[str, Path]
    _digests: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def rules(self) -> Iterator[FigureRule]:
        """The rules that draw figures, one for each kind of path below the folder of figures.

        - ``<dimension>/<kind>``: a figure of the scores in all tests of a dimension; the kind is a
          key of `KINDS`.
        - ``<dimension>/<kind>/<case>``: a figure of the scores in one test (case).
        - ``<dimension>/strips/<case>`` and ``<dimension>/movies/<case>``: forecasts in one test.
        - ``trajectories``: forecasts of people's paths over maps, if the scale has any.
        """
        folder = f"{results_of(self.plan)}/figures"
        for of_case in (False, True):
            kinds = [name for name, kind in KINDS.items() if kind.of_case is of_case]
            case = ("--cell", "{case}") if of_case else ()
            yield FigureRule(
                f"figure_of_{'case' if of_case else 'dimension'}",
                f"{folder}/{{dimension}}/{{kind}}" + ("/{case}" if of_case else ""),
                ("png", "svg"),
                ("figure", "{kind}", "{manifest}", *case),
                "figure",
                {"figure": "{kind}", "test": "{case}" if of_case else "all"},
                category="Figures",
                constraints={"kind": "|".join(kinds)},
            )
        for kind, endings in (("strips", ("png", "svg")), ("movies", ("gif", "mp4"))):
            yield FigureRule(
                f"render_{kind.removesuffix('s')}",
                f"{folder}/{{dimension}}/{kind}/{{case}}",
                endings,
                ("pictures", "{manifest}", "--cell", "{case}"),
                kind,
                {"picture": kind, "test": "{case}"},
            )
        if self.map_dimension:
            yield FigureRule(
                "trajectories",
                f"{folder}/trajectories",
                ("png", "svg", "pdf", "gif", "mp4"),
                ("trajectories", "{manifest}"),
                "trajectories",
                {"picture": "trajectories"},
                subcategory=None,
            )

    @property
    def paths(self) -> list[str]:
        """Paths of the first file of each figure, which are the targets of a run."""
        results, paths = results_of(self.plan), figures(self.plan)
        for dimension in self.manifests:
            if self._task(dimension).pictures == "strips":
                for case in self.plan.drawable_cases(dimension):
                    paths += [
                        f"figures/{dimension}/strips/{case}.png",
                        f"figures/{dimension}/movies/{case}.gif",
                    ]
        paths += ["figures/trajectories.png"] if self.map_dimension else []
        return [f"{results}/{path}" for path in paths]

    @property
    def map_dimension(self) -> str | None:
        """Name of the dimension whose forecasts are drawn over maps; None without one.

        It is the first dimension of the scale with forecasts of people's paths, since this one has
        most models.
        """
        of_maps = [name for name in self.manifests if self._task(name).pictures == "trajectories"]
        return of_maps[0] if of_maps else None

    def _task(self, dimension: str) -> Task:
        case = self.plan.config.scale.dimensions[dimension].cases()[0]
        return self.plan.recipes.samples(case.tested_on)

    def ancient_of(self, rule: FigureRule) -> Callable[[Any], list[str]]:
        """Make a function of wildcards that returns inputs that a figure only waits for.

        Snakemake ignores the modification times of these inputs (``ancient``). They are the
        manifest of the dimension and, for pictures of forecasts, the receipts of all scores of the
        dimension (where all scores exist, all forecasts do).

        Args:
            rule: the rule that draws the figure.
        """

        def ancient(wildcards: Any) -> list[str]:
            dimension = self._dimension(wildcards)
            receipts = [] if rule.category == "Figures" else self.plan.receipts(dimension)
            return [str(self.manifests[dimension]), *receipts]

        return ancient

    def rows_of(self, rule: FigureRule) -> Callable[[Any], list[str]]:
        """Make a function of wildcards that returns the files of scores that a figure shows.

        The function returns paths of files of collected scores, one for each dimension whose scores
        are shown. Pictures of forecasts need no such files; for these, the list is empty.

        Args:
            rule: the rule that draws the figure.
        """

        def rows(wildcards: Any) -> list[str]:
            if rule.category != "Figures":
                return []
            names = self._read(self._dimension(wildcards), wildcards.kind)
            return [f"{results_of(self.plan)}/collected/{name}.parquet" for name in names]

        return rows

    def arguments_of(self, rule: FigureRule) -> Callable[[Any], list[str]]:
        """Make a function of wildcards that returns the arguments of `stp draw` for a figure.

        Args:
            rule: the rule that draws the figure.
        """

        def arguments(wildcards: Any) -> list[str]:
            manifest = self.manifests[self._dimension(wildcards)]
            return [
                word.format(manifest=manifest, **dict(wildcards.items()))
                for word in (*rule.arguments, *rule.outputs)
            ]

        return arguments

    def digests_of(self, rule: FigureRule) -> Callable[[Any], str]:
        """Make a function of wildcards that returns the hash of all inputs of a figure.

        A change of the hash outdates the figure.

        Args:
            rule: the rule that draws the figure.
        """

        def digest_of(wildcards: Any) -> str:
            kind = wildcards.get("kind") or Path(rule.figure).parent.name
            kind = kind if rule.subcategory else rule.name
            return self.digest_of(self._dimension(wildcards), kind)

        return digest_of

    def _dimension(self, wildcards: Any) -> str:
        return require_dimension(self.plan, wildcards.get("dimension") or self.map_dimension or "")

    def digest_of(self, dimension: str, kind: str) -> str:
        """Compute the hash of all inputs of the figures of one kind; a change outdates them.

        Args:
            dimension: name of the dimension of the figures.
            kind: a kind of figures of scores (a key of `KINDS`), ``strips``, ``movies`` or
                ``trajectories``.
        """
        if (dimension, kind) not in self._digests:
            code = self.plan.sources.code_of
            if kind in KINDS:
                text: Any = [
                    manifest_digest(self.manifests[name]) for name in self._read(dimension, kind)
                ]
                module = KINDS[kind].module
            else:
                content = json.loads(self.manifests[dimension].read_bytes())
                text = {key: content[key] for key in DRAWN}
                module = f"stp.render.pictures.{'files' if kind != 'trajectories' else kind}"
            self._digests[dimension, kind] = digest([text, code([module]).fingerprint])
        return self._digests[dimension, kind]

    def _read(self, dimension: str, kind: str) -> list[str]:
        """Dimensions whose rows are in a figure; gains of ensembles also need single forecasts."""
        controls = self.plan.config.suite.dimensions[dimension].controls
        return [dimension, *([controls] if kind == "gain" and controls else [])]
