"""Render Table 19 of the paper beside our measurements. No torch."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stp.config import Config
from stp.errors import StpError
from stp.profiling import DATASET
from stp.profiling.networks import BUSY
from stp.profiling.published import CLIPS_PER_S, Published, published

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
Row = dict[str, Any]


def measurements(folder: Path, names: list[str]) -> dict[str, Any]:
    """Read what was measured, ``<folder>/<model>/moving_mnist.json``; what is missing is left out.

    Raises:
        StpError: a file is damaged.
    """
    found = {}
    for name in names:
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


def rows(config: Config, folder: Path) -> list[Row]:
    """The rows of the table, in the order of the paper.

    Args:
        config: of any scale.
        folder: of the measurements.

    Raises:
        StpError: a measurement is damaged, or the published values are.
    """
    known = published(config)
    measured = measurements(folder, list(known))
    return [
        _row(name, config.models[name].title, values, measured.get(name), folder)
        for name, values in known.items()
    ]


def as_csv(table: list[Row]) -> str:
    """The table for machines."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def as_markdown(table: list[Row]) -> str:
    """The table for people."""
    return "\n".join([*_markdown(table)]) + "\n"


def _row(name: str, title: str, printed: Published, found: Any, folder: Path) -> Row:
    row: Row = dict.fromkeys(COLUMNS, "")
    row |= {
        "model": name,
        "title": title,
        "parameters_published": round(printed.parameters * 1e6),
        "gmacs_published": printed.gmacs,
        "evaluations_per_s_published": printed.clips_per_s,
    }
    if found is None:
        path = folder / name / f"{DATASET}.json"
        row["notes"] = f"not measured: stp profile {name} {DATASET} --out {path}"
        return row
    size, speed, used = found["size"], found["speed"], found["memory"]
    counted, compute = found["as_published"], found["compute"]
    gmacs = counted["multiply_adds"] / 1e9
    rate = speed["evaluation"]["evaluations_per_s"]
    notes = [counted["how"]] if counted["how"] else []
    if speed["forecast"]["basis"] != "measured":
        notes.append(f"forecasts per second: {speed['forecast']['basis']}")
    if "training_bytes" not in used:
        notes.append("no training step was measured")
    machine = found["machine"]
    device = machine["processor"] if compute["device"] == "cpu" else compute["device"]
    return row | {
        "parameters": size["parameters"],
        "parameters_as_published": counted["parameters"],
        "parameters_difference_percent": _percent(counted["parameters"], printed.parameters * 1e6),
        "evaluations_per_forecast": size["evaluations_per_forecast"],
        "gmacs_per_evaluation": round(size["multiply_adds"]["evaluation"] / 1e9, 4),
        "gmacs_per_forecast": round(size["multiply_adds"]["forecast"] / 1e9, 4),
        "gmacs_as_published": round(gmacs, 4),
        "gmacs_difference_percent": _percent(gmacs, printed.gmacs),
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


def _markdown(table: list[Row]) -> Iterator[str]:
    yield "# Size, speed and memory of models on Moving-MNIST, 10 -> 10 frames of 64 x 64"
    yield ""
    yield (
        "In parentheses what the paper prints (PredBench, Table 19), and the difference of what is "
        "counted the same way: (published; ours - published). A multiply-add is two floating point "
        "operations; the paper calls multiply-adds FLOPs. A dash: not measured; see the notes."
    )
    yield ""
    head = (
        "model",
        "parameters",
        "(published)",
        "evaluations per forecast",
        "G multiply-adds per evaluation",
        "per forecast",
        "(published)",
        "evaluations/s",
        "(published)",
        "forecasts/s",
        "frames/s by evaluation",
        "by forecast",
        "MB of a forecast",
        "MB of a training step",
    )
    yield _line(head)
    yield _line(["---", *["---:"] * (len(head) - 1)])
    for row in table:
        yield _line(
            [
                row["title"],
                _count(row["parameters"]),
                f"({row['parameters_published'] / 1e6:g} M{_signed(row, 'parameters')})",
                _text(row["evaluations_per_forecast"]),
                _text(row["gmacs_per_evaluation"]),
                _text(row["gmacs_per_forecast"]),
                f"({row['gmacs_published']:g} G{_signed(row, 'gmacs')})",
                _text(row["evaluations_per_s"]),
                f"({row['evaluations_per_s_published']:g})",
                *(
                    _text(row[key])
                    for key in (
                        "forecasts_per_s",
                        "frames_per_s_by_evaluation",
                        "frames_per_s_by_forecast",
                        "peak_memory_forecast_mb",
                        "peak_memory_training_step_mb",
                    )
                ),
            ]
        )
    yield ""
    yield from _machines(table)
    yield f"Published speed: {CLIPS_PER_S}"
    noted = [row for row in table if row["notes"]]
    if noted:
        yield ""
        yield "Notes:"
        yield ""
        yield from (f"- {row['title']}: {row['notes']}." for row in noted)


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
        yield ""
    disturbed = [row["title"] for row in table if row["other_work_cpus"]]
    if disturbed:
        which = "all models" if len(disturbed) == len(table) else ", ".join(disturbed)
        yield f"**CAUTION**, {which}: {BUSY}."
        yield ""


def _signed(row: Row, what: str) -> str:
    difference = row[f"{what}_difference_percent"]
    return "" if difference == "" else f"; {difference:+.2f} %"


def _count(value: Any) -> str:
    return "–" if value == "" else f"{value:,}"


def _text(value: Any) -> str:
    return "–" if value == "" else f"{value:,.4g}" if isinstance(value, float) else str(value)


def _line(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
