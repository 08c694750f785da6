"""Find the works to cite for results: works on the benchmark, datasets, models and metrics."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stp.collect.query import run_query
from stp.core.errors import StpError, suggest_name
from stp.export.references import Reference, bibtex, format_reference, load_all
from stp.plan import config as configuration
from stp.plan.suite import read_suites

KINDS = {
    "software": "Software",
    "suite": "Benchmark",
    "dataset": "Datasets",
    "model": "Models",
    "metric": "Metrics",
}
"""Heading of each kind of subject."""


@dataclass(frozen=True)
class Subject:
    """A subject for which works are cited, such as a dataset or a model.

    Attributes:
        kind: "software", "suite", "dataset", "model" or "metric".
        name: name in the configuration; for a metric, that of a convention or of the whole metric.
        title: title of the subject.
        stated: reference in the configuration of the subject; empty if there is none.
        licence: licence of a dataset; empty if it is unknown, or for other subjects.
        origin: for a dataset, its data sources behind the results, such as "official"; empty
            without results, or for other subjects.
    """

    kind: str
    name: str
    title: str
    stated: str = ""
    licence: str = ""
    origin: str = ""


SOFTWARE = Subject("software", "stp", "This software")


@dataclass(frozen=True)
class Citation:
    """A subject, and the works to cite for it.

    Attributes:
        subject: what is cited: this software, a suite, a dataset, a model or a metric.
        works: the works that describe it, by BibTeX key; empty if there are none, as for metrics
            of our own.
    """

    subject: Subject
    works: Mapping[str, Reference]


def of_results(database: Path, model: str | None = None) -> list[Citation]:
    """Find what to cite for the results in a database: software, suites, datasets and others.

    Args:
        database: path of results.duckdb.
        model: name of the model whose results are cited; None for all models.

    Raises:
        StpError: there is no database, or another version made it.
    """
    chosen = " WHERE model = ?" if model else ""
    values = [model] if model else []

    def named(table: str, kind: str, columns: str, keys: str) -> list[Subject]:
        _, rows = run_query(
            database,
            f"SELECT {kind}, title, {columns} FROM {table} WHERE {kind} IN ({keys}) "
            f"ORDER BY {kind}",
            values * keys.count("?"),
        )
        return [
            Subject(
                kind,
                name,
                title,
                stated or "",
                licence or "",
                origins.get(name, "") if kind == "dataset" else "",
            )
            for name, title, stated, licence in rows
        ]

    _, sources = run_query(
        database,
        "SELECT tested_on, string_agg(DISTINCT source, ', ' ORDER BY source) "
        f"FROM cells{chosen} GROUP BY ALL",
        values,
    )
    origins: dict[str, str] = dict(sources)
    _, suites = run_query(
        database,
        "SELECT suite, title FROM suites WHERE suite IN "
        f"(SELECT suite FROM cells{chosen}) ORDER BY ALL",
        values,
    )
    datasets = f"SELECT trained_on FROM cells{chosen} UNION SELECT tested_on FROM cells{chosen}"
    models = f"SELECT model FROM cells{chosen}"
    _, conventions = run_query(
        database,
        "SELECT DISTINCT convention, coalesce(c.title, o.metric) AS title FROM overall o "
        "LEFT JOIN conventions c USING (convention) WHERE value IS NOT NULL"
        f"{' AND model = ?' if model else ''} ORDER BY convention",
        values,
    )
    return _cite_subjects(
        [
            SOFTWARE,
            *(Subject("suite", name, title) for name, title in suites),
            *named("datasets", "dataset", "citation, licence", datasets),
            *named("models", "model", "reference, NULL", models),
            *(Subject("metric", name, title) for name, title in conventions),
        ]
    )


def of_names(names: Sequence[str]) -> list[Citation]:
    """Find what to cite for suites, datasets, models, metrics and conventions, by name.

    Args:
        names: names in config/, such as kth, simvpv2, ssim or crps.fair; stp for this software.

    Returns:
        a citation for each name, sorted by kind: software, suites, datasets, models, metrics.

    Raises:
        StpError: a name is unknown.
    """
    config = configuration.load(configuration.CONFIG_FOLDER / "paper.yaml")
    subjects = {SOFTWARE.name: SOFTWARE}
    subjects |= {name: Subject("suite", name, suite.title) for name, suite in read_suites().items()}
    for name, dataset in config.datasets.items():
        subjects[name] = Subject("dataset", name, dataset.title, dataset.citation, dataset.licence)
    for name, model in config.models.items():
        subjects[name] = Subject("model", name, model.title, model.reference)
    for name, metric in config.metrics.items():
        subjects[name] = Subject("metric", name, metric.title)
        for choice in metric.conventions:
            subjects[f"{name}.{choice}"] = Subject(
                "metric", f"{name}.{choice}", metric.title_of(choice)
            )
    for name in names:
        if name not in subjects:
            raise StpError(
                f"{name!r} is not a suite, dataset, model or metric of config/",
                expected="a name such as kth, simvpv2, ssim or crps.fair",
                remedy=suggest_name(name, subjects),
            )
    order = list(KINDS)
    chosen = [subjects[name] for name in dict.fromkeys(names)]
    return _cite_subjects(sorted(chosen, key=lambda subject: order.index(subject.kind)))


def _cite_subjects(subjects: Iterable[Subject]) -> list[Citation]:
    references = load_all()
    return [Citation(subject, _works(subject, references)) for subject in subjects]


def _works(subject: Subject, references: Mapping[str, Reference]) -> dict[str, Reference]:
    """Works of a subject by BibTeX key; without works, the reference in its configuration."""
    words = {f"{subject.kind} {subject.name}", f"{subject.kind} {subject.name.partition('.')[0]}"}
    works = {key: work for key, work in references.items() if words & set(work.of)}
    if not works and subject.stated:
        key = re.sub(r"[^A-Za-z0-9]+", "-", f"{subject.kind}-{subject.name}")
        works[key] = Reference(type="misc", title=subject.title, note=subject.stated)
    return works


def as_bibtex(citations: Sequence[Citation]) -> str:
    """Format all works of citations as BibTeX, without duplicates."""
    works: dict[str, Reference] = {}
    for citation in citations:
        works.update(citation.works)
    return bibtex(works)


def as_markdown(citations: Sequence[Citation]) -> str:
    """Format citations as Markdown: subjects, their works, and reasons why some have none."""
    lines = [
        "# What to cite",
        "",
        "The results rest on the work of others. `CITATION.bib` beside this page, or `stp list "
        "works`, has the same as BibTeX.",
    ]
    for kind, heading in KINDS.items():
        these = [citation for citation in citations if citation.subject.kind == kind]
        if these:
            lines += ["", f"## {heading}", "", *_section(kind, these)]
    return "\n".join(lines) + "\n"


def _section(kind: str, citations: Sequence[Citation]) -> Iterable[str]:
    alike: dict[tuple[str, tuple[str, ...]], list[Citation]] = {}
    for citation in citations:  # conventions of a metric that rest on the same works
        title = citation.subject.title if kind == "metric" else citation.subject.name
        alike.setdefault((title, tuple(citation.works)), []).append(citation)
    for same in alike.values():
        subject = same[0].subject
        if kind == "metric":
            names = ", ".join(f"`{other.subject.name}`" for other in same)
        else:
            names = f"`{subject.name}`"
        facts = f"; licence: {subject.licence}" if subject.licence else ""
        if subject.origin:
            facts += f"; data behind these results: {subject.origin}"
        yield f"- **{subject.title}** ({names}){facts}"
        for key, work in same[0].works.items():
            yield f"  - {format_reference(work)} `{key}`"
        if not same[0].works:
            yield f"  - {_why_none(subject)}"


def _why_none(subject: Subject) -> str:
    if subject.kind == "metric":
        return "no work of its own: as the benchmark defines it, or ours (docs/metrics.md)"
    return "no reference is stated: ask its provider"
