"""Render Table 19 of the paper beside what was counted or measured here. No torch."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.plan.config import Config
from stp.plan.profiled import BUSY
from stp.profiling import DATASET
from stp.profiling.published import CLIPS_PER_S, PublishedComplexity, published

COLUMNS = (
    "model",
    "title",
    "parameters",
    "parameters_as_published",
    "parameters_published",
    "parameters_difference_percent",
    "evaluations_per_forecast",
    "gmacs_per_evaluation",
    "gmacs_per_forecast",
    "gmacs_as_published",
    "gmacs_published",
    "gmacs_difference_percent",
    "evaluations_per_s",
    "evaluations_per_s_published",
    "evaluations_per_s_ratio",
    "forecasts_per_s",
    "frames_per_s_by_evaluation",
    "frames_per_s_by_forecast",
    "batch",
    "peak_memory_forecast_mb",
    "peak_memory_training_step_mb",
    "device",
    "threads",
    "precision",
    "torch",
    "host",
    "other_work_cpus",
    "notes",
)
SIZES = (*COLUMNS[: COLUMNS.index("evaluations_per_s")], "notes")
"""Columns of what is only counted."""
Row = dict[str, Any]


def measurements(folder: Path, config: Config) -> dict[str, Any]:
    """Read what was measured, ``<folder>/<model>/moving_mnist.json``; what is missing is left out.

    Raises:
        StpError: a file is damaged, or the published values are.
    """
    found = {}
    for name in published(config):
        path = folder / name / f"{DATASET}.json"
        try:
            found[name] = json.loads(path.read_text(encoding="utf-8"))
            if found[name]["model"] != name or found[name]["dataset"] != DATASET:
                raise ValueError(f"of {found[name]['model']} on {found[name]['dataset']}")
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError) as error:
            raise StpError(
                f"{path} is damaged: {error}",
                expected=f"what `stp profile {name} {DATASET} --out` writes",
                remedy=f"stp profile {name} {DATASET} --out {path}",
            ) from error
    return found


def rows(config: Config, found: Mapping[str, Any]) -> list[Row]:
    """The rows of the table, in the order of the paper.

    Args:
        config: of any scale.
        found: by model, what `measurements` or `stp.profiling.counted.count` gives.

    Raises:
        StpError: the published values are damaged.
    """
    return [
        _row(name, config.models[name].title, values, found.get(name))
        for name, values in published(config).items()
    ]


def write(table: list[Row], out: Path, *, measured: bool) -> None:
    """Write ``<name>.csv``, ``.md``, ``.tex`` and ``.html``.

    Args:
        table: the rows.
        out: the CSV file.
        measured: whether speed and memory are part of it.

    Raises:
        StpError: the disk refuses.
    """
    grid = as_grid(table, out.stem, measured=measured)
    csv_text = as_csv(table, COLUMNS if measured else SIZES)
    write_all({out: csv_text, **texts(grid, out.parent)})


def as_csv(table: list[Row], columns: Sequence[str] = COLUMNS) -> str:
    """The table for machines."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def _row(name: str, title: str, printed: PublishedComplexity, found: Any) -> Row:
    row: Row = dict.fromkeys(COLUMNS, "")
    row |= {
        "model": name,
        "title": title,
        "parameters_published": round(printed.parameters * 1e6),
        "gmacs_published": printed.gmacs,
        "evaluations_per_s_published": printed.clips_per_s,
    }
    if found is None:
        row["notes"] = f"not measured: stp profile {name} {DATASET}"
        return row
    size, counted = found["size"], found["as_published"]
    gmacs = counted["multiply_adds"] / 1e9
    row |= {
        "parameters": size["parameters"],
        "parameters_as_published": counted["parameters"],
        "parameters_difference_percent": _percent(counted["parameters"], printed.parameters * 1e6),
        "evaluations_per_forecast": size["evaluations_per_forecast"],
        "gmacs_per_evaluation": round(size["multiply_adds"]["evaluation"] / 1e9, 4),
        "gmacs_per_forecast": round(size["multiply_adds"]["forecast"] / 1e9, 4),
        "gmacs_as_published": round(gmacs, 4),
        "gmacs_difference_percent": _percent(gmacs, printed.gmacs),
        "notes": counted["how"],
    }
    return row | _measured(found, printed, row["notes"]) if "speed" in found else row


def _measured(found: Any, printed: PublishedComplexity, how: str) -> Row:
    """The part of a row that is measured, and its notes."""
    speed, used, compute = found["speed"], found["memory"], found["compute"]
    rate = speed["evaluation"]["evaluations_per_s"]
    notes = [how] if how else []
    if speed["forecast"]["basis"] != "measured":
        notes.append(f"forecasts per second: {speed['forecast']['basis']}")
    if "training_bytes" not in used:
        notes.append("no training step was measured")
    machine = found["machine"]
    device = machine["processor"] if compute["device"] == "cpu" else compute["device"]
    return {
        "evaluations_per_s": _digits(rate),
        "evaluations_per_s_ratio": _digits(rate / printed.clips_per_s),
        "forecasts_per_s": _digits(speed["forecast"]["forecasts_per_s"]),
        "frames_per_s_by_evaluation": _digits(speed["evaluation"]["frames_per_s"]),
        "frames_per_s_by_forecast": _digits(speed["forecast"]["frames_per_s"]),
        "batch": speed["batch"],
        "peak_memory_forecast_mb": round(used["forward_bytes"] / 1e6, 1),
        "peak_memory_training_step_mb": (
            round(used["training_bytes"] / 1e6, 1) if "training_bytes" in used else ""
        ),
        "device": device,
        "threads": compute["threads"],
        "precision": compute["precision"]["used"],
        "torch": machine["torch"],
        "host": machine["host"],
        "other_work_cpus": machine["other_work_cpus"] if machine["busy"] else 0.0,
        "notes": "; ".join(notes),
    }


def _percent(ours: float, theirs: float) -> float:
    return round(100 * (ours / theirs - 1), 2) + 0.0  # no -0.0


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def as_grid(table: list[Row], name: str, *, measured: bool) -> Grid:
    """The table for people.

    Args:
        table: the rows.
        name: of its files.
        measured: whether speed and memory are part of it.
    """
    speeds = ", speed and memory" if measured else ""
    columns = {**_COUNTED, **(_MEASURED if measured else {})}
    notes = [*(_machines(table) if measured else ())]
    notes += [f"Published speed: {CLIPS_PER_S}"] if measured else []
    notes += [f"{row['title']}: {row['notes']}." for row in table if row["notes"]]
    target = f"snakemake --profile local results/tables/{name}.csv"
    return Grid(
        name=name,
        title=f"Size{speeds} of models on Moving-MNIST, 10 -> 10 frames of 64 x 64",
        intro=[
            "In parentheses what the paper prints (PredBench, Table 19), and the difference of "
            "what is counted the same way: (published; ours - published). A multiply-add is two "
            "floating point operations; the paper calls multiply-adds FLOPs."
            + (" A dash: not measured; see the notes." if measured else "")
        ],
        warnings=[f"CAUTION, {which}: {BUSY}." for which in _disturbed(table)],
        sections=[
            Section(
                title="",
                columns=["model", *columns],
                rows=[[row["title"], *(cell(row) for cell in columns.values())] for row in table],
                numeric=[False, *(True for _ in columns)],
                notes=notes,
            )
        ],
        made_from=f"Made by `{target}`; the networks are those of `config/paper.yaml`.",
    )


def _plain(key: str) -> Callable[[Row], Item]:
    return lambda row: Item(_text(row[key]))


_COUNTED: dict[str, Callable[[Row], Item]] = {
    "parameters": lambda row: Item(
        _count(row["parameters"]),
        aside=f"{row['parameters_published'] / 1e6:g} M{_signed(row, 'parameters')}",
    ),
    "evaluations per forecast": _plain("evaluations_per_forecast"),
    "G multiply-adds per evaluation": _plain("gmacs_per_evaluation"),
    "per forecast": lambda row: Item(
        _text(row["gmacs_per_forecast"]),
        aside=f"{row['gmacs_published']:g} G{_signed(row, 'gmacs')}",
    ),
}
_MEASURED: dict[str, Callable[[Row], Item]] = {
    "evaluations/s": lambda row: Item(
        _text(row["evaluations_per_s"]), aside=f"{row['evaluations_per_s_published']:g}"
    ),
    "forecasts/s": _plain("forecasts_per_s"),
    "frames/s by evaluation": _plain("frames_per_s_by_evaluation"),
    "by forecast": _plain("frames_per_s_by_forecast"),
    "MB of a forecast": _plain("peak_memory_forecast_mb"),
    "MB of a training step": _plain("peak_memory_training_step_mb"),
}


def _machines(table: list[Row]) -> Iterator[str]:
    """Say where the numbers were measured; usually all of them on one machine."""
    keys = ("host", "device", "threads", "precision", "torch", "batch")
    places: dict[tuple[Any, ...], list[str]] = {}
    for row in table:
        if row["host"]:
            places.setdefault(tuple(row[key] for key in keys), []).append(row["title"])
    for (host, device, threads, precision, torch, batch), titles in places.items():
        which = "all models" if len(titles) == len(table) else ", ".join(titles)
        yield (
            f"Speed and memory of {which}: measured on {host}, {device}, {threads} threads, "
            f"{precision}, torch {torch}, batches of {batch}."
        )


def _disturbed(table: list[Row]) -> list[str]:
    """Name the models whose measurement something disturbed."""
    titles = [row["title"] for row in table if row["other_work_cpus"]]
    return ["all models" if len(titles) == len(table) else ", ".join(titles)] if titles else []


def _signed(row: Row, what: str) -> str:
    difference = row[f"{what}_difference_percent"]
    return "" if difference == "" else f"; {difference:+.2f} %"


def _count(value: Any) -> str:
    return "–" if value == "" else f"{value:,}"


def _text(value: Any) -> str:
    return "–" if value == "" else f"{value:,.4g}" if isinstance(value, float) else str(value)
