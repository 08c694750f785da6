"""Make the table of PredBench's Table 19 (sizes and speeds) beside counted and measured values.

This module does not import torch.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from stp.core.errors import FileError
from stp.core.json_files import read_json
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.config import Config
from stp.plan.profiled_networks import BUSY
from stp.profiling import DATASET
from stp.profiling.published import CLIPS_PER_S, PublishedComplexity, published_complexity


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """Size, speed and memory of one model on Moving-MNIST, beside the values that PredBench prints.

    An evaluation is a forward pass of the network; some models need several for a forecast. None
    stands for a value that was not determined.

    Attributes:
        model: name of the model.
        title: title of the model.
        parameters: number of parameters of the network.
        parameters_as_published: number of parameters, counted as the paper counts.
        parameters_published: number of parameters that the paper prints.
        parameters_difference_percent: difference of the two numbers before, in per cent of the
            printed one.
        evaluations_per_forecast: number of evaluations of the network in a forecast.
        gmacs_per_evaluation: multiply-adds of an evaluation, in 10^9.
        gmacs_per_forecast: multiply-adds of a forecast, in 10^9.
        gmacs_as_published: multiply-adds, counted as the paper counts, in 10^9.
        gmacs_published: multiply-adds that the paper prints (as FLOPs), in 10^9.
        gmacs_difference_percent: difference of the two numbers before, in per cent of the printed
            one.
        evaluations_per_s: evaluations per second, each clip of a batch counted as one.
        evaluations_per_s_published: speed that the paper prints, taken for evaluations per second.
        evaluations_per_s_ratio: measured evaluations per second, divided by the printed ones.
        forecasts_per_s: forecasts per second, each clip of a batch counted as one.
        frames_per_s_by_evaluation: predicted frames per second in the timed evaluations: frames
            that one evaluation contributes to a forecast, times `evaluations_per_s`.
        frames_per_s_by_forecast: predicted frames per second in the timed forecasts: frames of a
            forecast, times `forecasts_per_s`. It includes the work between evaluations.
        batch: number of clips that were computed at once.
        peak_memory_forecast_mb: largest memory in a forecast, in 10^6 bytes.
        peak_memory_training_step_mb: largest memory in a training step, in 10^6 bytes.
        device: processor or GPU of the measurement.
        threads: number of CPU threads.
        precision: floating point type of the network.
        torch: version of PyTorch.
        host: name of the machine.
        other_work_cpus: number of CPUs that other processes kept busy on average during the
            measurement, if they may have slowed it down; 0 if enough CPUs were free.
        notes: remarks, such as how the paper counts otherwise.
    """

    model: str
    title: str
    parameters: int | None = None
    parameters_as_published: int | None = None
    parameters_published: int
    parameters_difference_percent: float | None = None
    evaluations_per_forecast: int | None = None
    gmacs_per_evaluation: float | None = None
    gmacs_per_forecast: float | None = None
    gmacs_as_published: float | None = None
    gmacs_published: float
    gmacs_difference_percent: float | None = None
    evaluations_per_s: float | None = None
    evaluations_per_s_published: float
    evaluations_per_s_ratio: float | None = None
    forecasts_per_s: float | None = None
    frames_per_s_by_evaluation: float | None = None
    frames_per_s_by_forecast: float | None = None
    batch: int | None = None
    peak_memory_forecast_mb: float | None = None
    peak_memory_training_step_mb: float | None = None
    device: str | None = None
    threads: int | None = None
    precision: str | None = None
    torch: str | None = None
    host: str | None = None
    other_work_cpus: float | None = None
    notes: str = ""


COLUMNS = tuple(one.name for one in fields(ProfileRow))
COUNTED = (*COLUMNS[: COLUMNS.index("evaluations_per_s")], "notes")
"""Columns of counted, not measured values."""


def measurements(folder: Path, config: Config) -> dict[str, Any]:
    """Read the measurements of the models of PredBench's Table 19, as far as they exist.

    Args:
        folder: folder of the files ``<model>/moving_mnist.json``, which `stp profile` writes.
        config: configuration, with the published values.

    Returns:
        content of the files, by name of the model.

    Raises:
        StpError: a measurement or the published values are damaged.
    """
    measured = {}
    for name in published_complexity(config):
        path = folder / name / f"{DATASET}.json"
        if not path.exists():
            continue
        expected = f"a measurement of {name} on {DATASET}"
        remedy = f"stp profile {name} {DATASET} --configfile config/paper.yaml --out {path}"
        measured[name] = read_json(path, dict, expected, remedy)
        model, dataset = (measured[name].get(key) for key in ("model", "dataset"))
        if (model, dataset) != (name, DATASET):
            raise FileError(path, f"of {model} on {dataset}", expected=expected, remedy=remedy)
    return measured


def rows(config: Config, measured: Mapping[str, Any]) -> list[ProfileRow]:
    """Make the rows of the table of sizes and speeds, in the order of PredBench's Table 19.

    Args:
        config: configuration, with the titles of models.
        measured: measurements by name of the model (`measurements`); some may be missing.

    Raises:
        StpError: the published values are damaged.
    """
    return [
        _row(name, config.models[name].title, values, measured.get(name))
        for name, values in published_complexity(config).items()
    ]


def write(table: list[ProfileRow], out: Path) -> None:
    """Write the table of sizes and speeds as .csv, .md, .tex and .html.

    Args:
        table: rows of the table.
        out: path of the .csv file; the others are written beside it.

    Raises:
        StpError: a file cannot be written.
    """
    lines = [[vars(row)[name] for name in COLUMNS] for row in table]
    grid = as_grid(table, out.stem)
    write_all({out: csv_text([COLUMNS, *lines]), **render_grid(grid, out.parent)})


def _row(name: str, title: str, printed: PublishedComplexity, measurement: Any) -> ProfileRow:
    row = ProfileRow(
        model=name,
        title=title,
        parameters_published=round(printed.parameters * 1e6),
        gmacs_published=printed.gmacs,
        evaluations_per_s_published=printed.clips_per_s,
    )
    if measurement is None:
        return replace(row, notes=f"not measured: stp profile {name} {DATASET}")
    size, counted = measurement["size"], measurement["as_published"]
    gmacs = counted["multiply_adds"] / 1e9
    row = replace(
        row,
        parameters=size["parameters"],
        parameters_as_published=counted["parameters"],
        parameters_difference_percent=_percent(counted["parameters"], printed.parameters * 1e6),
        evaluations_per_forecast=size["evaluations_per_forecast"],
        gmacs_per_evaluation=round(size["multiply_adds"]["evaluation"] / 1e9, 4),
        gmacs_per_forecast=round(size["multiply_adds"]["forecast"] / 1e9, 4),
        gmacs_as_published=round(gmacs, 4),
        gmacs_difference_percent=_percent(gmacs, printed.gmacs),
        notes=counted["how"],
    )
    return _with_measurement(row, measurement, printed) if "speed" in measurement else row


def _with_measurement(
    row: ProfileRow, measurement: Any, printed: PublishedComplexity
) -> ProfileRow:
    speed, used, compute = measurement["speed"], measurement["memory"], measurement["compute"]
    rate = speed["evaluation"]["evaluations_per_s"]
    notes = [row.notes] if row.notes else []
    if speed["forecast"]["basis"] != "measured":
        notes.append(f"forecasts per second: {speed['forecast']['basis']}")
    training = used.get("training_bytes")
    if training is None:
        notes.append("no training step was measured")
    machine = measurement["machine"]
    return replace(
        row,
        evaluations_per_s=_digits(rate),
        evaluations_per_s_ratio=_digits(rate / printed.clips_per_s),
        forecasts_per_s=_digits(speed["forecast"]["forecasts_per_s"]),
        frames_per_s_by_evaluation=_digits(speed["evaluation"]["frames_per_s"]),
        frames_per_s_by_forecast=_digits(speed["forecast"]["frames_per_s"]),
        batch=speed["batch"],
        peak_memory_forecast_mb=round(used["forward_bytes"] / 1e6, 1),
        peak_memory_training_step_mb=None if training is None else round(training / 1e6, 1),
        device=machine["processor"] if compute["device"] == "cpu" else compute["device"],
        threads=compute["threads"],
        precision=compute["precision"]["used"],
        torch=machine["torch"],
        host=machine["host"],
        other_work_cpus=machine["other_work_cpus"] if machine["busy"] else 0.0,
        notes="; ".join(notes),
    )


def _percent(ours: float, published: float) -> float:
    return round(100 * (ours / published - 1), 2) + 0.0  # no -0.0


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def as_grid(table: list[ProfileRow], name: str) -> Grid:
    """Arrange the sizes and speeds as a table with title and notes, for .md, .tex and .html.

    Args:
        table: rows of the table.
        name: name of the file of the table, without suffix.
    """
    columns = {**_COUNTED, **_MEASURED}
    notes = [*_machines(table), f"Published speed: {CLIPS_PER_S}"]
    notes += [f"{row.title}: {row.notes}." for row in table if row.notes]
    target = f"snakemake --profile local results/tables/{name}.csv"
    return Grid(
        name=name,
        title="Size, speed and memory of models on Moving-MNIST, 10 -> 10 frames of 64 x 64",
        intro=[
            "In parentheses what the paper prints (PredBench, Table 19), and the difference of "
            "what is counted the same way: (published; ours - published). A multiply-add is two "
            "floating point operations; the paper calls multiply-adds FLOPs. A dash: not measured; "
            "see the notes."
        ],
        warnings=[f"CAUTION, {which}: {BUSY}." for which in _disturbed_models(table)],
        sections=[
            Section(
                title="",
                columns=["model", *columns],
                rows=[[row.title, *(cell(row) for cell in columns.values())] for row in table],
                numeric=[False, *(True for _ in columns)],
                notes=notes,
            )
        ],
        made_from=f"Made by `{target}`; the networks are those of `config/paper.yaml`.",
    )


_COUNTED: dict[str, Callable[[ProfileRow], Item]] = {
    "parameters": lambda row: Item(
        _count(row.parameters),
        aside=f"{row.parameters_published / 1e6:g} M"
        f"{_difference_text(row.parameters_difference_percent)}",
    ),
    "evaluations per forecast": lambda row: Item(_format_value(row.evaluations_per_forecast)),
    "G multiply-adds per evaluation": lambda row: Item(_format_value(row.gmacs_per_evaluation)),
    "per forecast": lambda row: Item(
        _format_value(row.gmacs_per_forecast),
        aside=f"{row.gmacs_published:g} G{_difference_text(row.gmacs_difference_percent)}",
    ),
}
_MEASURED: dict[str, Callable[[ProfileRow], Item]] = {
    "evaluations/s": lambda row: Item(
        _format_value(row.evaluations_per_s), aside=f"{row.evaluations_per_s_published:g}"
    ),
    "forecasts/s": lambda row: Item(_format_value(row.forecasts_per_s)),
    "frames/s by evaluation": lambda row: Item(_format_value(row.frames_per_s_by_evaluation)),
    "by forecast": lambda row: Item(_format_value(row.frames_per_s_by_forecast)),
    "MB of a forecast": lambda row: Item(_format_value(row.peak_memory_forecast_mb)),
    "MB of a training step": lambda row: Item(_format_value(row.peak_memory_training_step_mb)),
}


def _machines(table: list[ProfileRow]) -> Iterator[str]:
    titles_of: dict[tuple[object, ...], list[str]] = {}
    for row in table:
        if row.host:
            settings = row.host, row.device, row.threads, row.precision, row.torch, row.batch
            titles_of.setdefault(settings, []).append(row.title)
    for (host, device, threads, precision, torch, batch), titles in titles_of.items():
        which = "all models" if len(titles) == len(table) else ", ".join(titles)
        yield (
            f"Speed and memory of {which}: measured on {host}, {device}, {threads} threads, "
            f"{precision}, torch {torch}, batches of {batch}."
        )


def _disturbed_models(table: list[ProfileRow]) -> list[str]:
    titles = [row.title for row in table if row.other_work_cpus]
    return ["all models" if len(titles) == len(table) else ", ".join(titles)] if titles else []


def _difference_text(difference: float | None) -> str:
    return "" if difference is None else f"; {difference:+.2f} %"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _format_value(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if isinstance(value, float) else str(value)
