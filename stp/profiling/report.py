"""Report a measured network as a JSON object, or as lines of text."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stp.core.job import Report, report_nothing
from stp.core.provenance import describe_machine
from stp.core.units import size_text
from stp.plan.config import Config
from stp.plan.profiled_networks import BUSY, network
from stp.profiling import DATASET
from stp.profiling.measure import measure
from stp.profiling.published import published_complexity
from stp.profiling.table19 import as_published

Json = dict[str, Any]
_MACHINE = ("host", "system", "processor", "cpus", "python", "commit")
SPARE = 0.1
"""Number of CPUs that the system itself may use."""


def profile(
    config: Config, model: str, dataset: str, *, report: Report = report_nothing, **how: Any
) -> Json:
    """Measure a network with the options that the configuration sets for a dataset.

    Args:
        config: configuration, with models and datasets.
        model: name of the model.
        dataset: name of the dataset, which sets shape of frames, context and horizon.
        report: progress callback.
        how: further arguments of `measure`, such as ``device`` and ``batch``.

    Returns:
        the result of `measure` with further keys: ``model``, ``dataset``, ``title``, ``network``
        (its recipe) and ``machine``. A model of PredBench's Table 19 on Moving-MNIST also has
        ``as_published``: its parameters and multiply-adds, counted as in that table.

    Raises:
        StpError: a name is unknown, or `measure` fails.
    """
    recipe = network(config, model, dataset)
    precision = recipe.pop("precision")
    begun, busy = time.monotonic(), _others_seconds()
    measured = measure(recipe, precision=precision, report=report, **how)
    others = None
    if busy is not None and (after := _others_seconds()) is not None:
        others = max(0.0, after - busy) / (time.monotonic() - begun)
    measurement: Json = {
        "model": model,
        "dataset": dataset,
        "title": config.models[model].title,
        "network": recipe,
        **measured,
    }
    if dataset == DATASET and model in published_complexity(config):
        measurement["as_published"] = vars(as_published(recipe))
    about = describe_machine()
    measurement["machine"] = {
        **{name: getattr(about, name) for name in _MACHINE},
        "torch": about.packages["torch"],
        "other_work_cpus": None if others is None else round(others, 2),
        "busy": measured["compute"]["threads"] + (others or 0) > (about.cpus or 1) + SPARE,
    }
    return measurement


def machine_text(measurement: Json) -> str:
    """Describe, in one line, where a network was measured: host, device, threads, precision, torch.

    Args:
        measurement: return value of `profile`.
    """
    compute, machine = measurement["compute"], measurement["machine"]
    device = compute["device"]
    device = machine["processor"] if device == "cpu" else f"{device}, {machine['processor']}"
    return (
        f"{machine['host']}: {device}, {compute['threads']} of {machine['cpus']} threads, "
        f"{compute['precision']['used']}, torch {machine['torch']}"
    )


def lines(measurement: Json) -> Iterator[str]:
    """Yield the lines that ``stp profile`` prints about a measured network.

    Args:
        measurement: return value of `profile`.
    """
    size, speed, used = measurement["size"], measurement["speed"], measurement["memory"]
    network_of = measurement["network"]
    shape = " x ".join(map(str, network_of["shape"]))
    lead = network_of["horizon"]
    yield (
        f"{measurement['title']} ({measurement['model']}) on {measurement['dataset']}: "
        f"{network_of['context']} -> {lead} frames of {shape}"
    )
    yield f"measured on {machine_text(measurement)}, batches of {speed['batch']}"
    if measurement["machine"]["busy"]:
        others = measurement["machine"]["other_work_cpus"]
        yield f"  CAUTION: {BUSY} (it took {others:.1f} of {measurement['machine']['cpus']} CPUs)"
    evaluations = size["evaluations_per_forecast"]
    yield ""
    yield f"parameters            {size['parameters']:,}"
    yield f"evaluations           {evaluations} of the network per forecast"
    for part in ("context", "evaluation", "forecast"):
        amount = size["multiply_adds"][part]
        if amount or part != "context":
            basis = "once per forecast" if part == "context" else f"per {part}"
            yield (
                f"multiply-adds         {amount / 1e9:,.3f} G {basis} "
                f"({2 * amount / 1e9:,.3f} G floating point operations)"
            )
    for part, rate in (("evaluation", "evaluations_per_s"), ("forecast", "forecasts_per_s")):
        timing = speed[part]
        yield (
            f"{part:<21} {timing['median']:.4g} s per batch of {speed['batch']} (half of "
            f"{timing['repetitions']} between {timing['low']:.4g} and {timing['high']:.4g}); "
            f"{timing[rate]:.4g} {part}s/s, {timing['frames_per_s']:.4g} frames/s"
        )
    if speed["forecast"]["basis"] != "measured":
        yield f"                      forecast: {speed['forecast']['basis']}"
    yield f"memory of a forecast  {size_text(used['forward_bytes'])}"
    if "training_bytes" in used:
        yield f"memory of a step      {size_text(used['training_bytes'])} (training, with Adam)"
    process = used.get("process_bytes_after_training", used["process_bytes_after_forward"])
    yield f"  by {used['method']}"
    yield f"  whole process: {size_text(process)} at most"
    if counted := measurement.get("as_published"):
        how = f" ({counted['how']})" if counted["how"] else ""
        yield (
            f"Table 19 counts       {counted['parameters']:,} parameters, "
            f"{counted['multiply_adds'] / 1e9:,.3f} G multiply-adds{how}"
        )


def _others_seconds() -> float | None:
    """CPU seconds of other processes of this machine since it started; None if unknown."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0]
    except OSError:
        return None
    # user, nice, system, idle, waiting, interrupts twice, and what a virtual machine did not get
    counts = [int(count) for count in first.split()[1:9]]
    busy = sum(counts) - sum(counts[3:5])
    return busy / os.sysconf("SC_CLK_TCK") - time.process_time()
