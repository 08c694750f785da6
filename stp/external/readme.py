"""The README beside exported windows: what to return."""

from typing import Any

READ = {
    "zarr": 'context = zarr.open("windows.zarr")["context"]  # an array that is read in parts',
    "npz": 'context = np.load("windows.npz")["context"]',
    "mp4": "context = ...  # context/000000.mp4 is sample 0, and so on; brightness / 255",
}


def readme(described: dict[str, Any], kind: str) -> str:
    """Write it.

    Args:
        described: the content of `windows.json`.
        kind: zarr, npz or mp4.
    """
    channels, height, width = described["shape"]
    count, horizon, context = (described[key] for key in ("samples", "horizon", "context"))
    values, units = described["values"], described["units"]
    one = f"({horizon}, {channels}, {height}, {width})"
    shape = f"({count}, {one[1:]}"
    variables = described["variables"]
    evaluation = described["evaluation"]
    lines = [
        f"# {count} windows of {described['dataset']} ({evaluation['subset']})",
        "",
        f"{described['source']} bytes, release {described['release']}; {context} context frames of "
        f"{channels} x {height} x {width} (channel, y, x), every {described['interval']}. frame, "
        f"in units {units!r}{' (brightness 0..1)' if units == '1' else ''}. To be predicted: the "
        f"{horizon} frames that follow.",
        "",
        "| file | what it is |",
        "|---|---|",
        "| `windows.json` | all that is known about the windows; belongs to the predictions |",
        "| `index.csv` | one row for each sample: clip, cluster (what depends on what), time where "
        "known, and `window`, a checksum of its context frames; belongs to the predictions |",
        *_files(described, kind),
        "",
        "`values` in `windows.json` are those of the context frames, by channel"
        + (f" ({', '.join(variables)})" if variables else "")
        + f": lowest {min(values['low']):.6g}, highest {max(values['high']):.6g}. `normalisation` "
        "has the constants of the training split: normalised = (value - offset) / scale.",
        "",
    ]
    if not evaluation["dimension"]:
        lines += [
            "This is no test: these windows are for training. Predictions of them are not "
            "imported.",
            "",
        ]
        return "\n".join(lines)
    lines += [
        "## What to return",
        "",
        "A folder with `windows.json`, `index.csv` as they are here, and one of",
        "",
        f"- `predictions.zarr`, array `predictions` of shape {shape}: sample, lead, channel, y, x;",
        "- `predictions.npz`, the same under the name `predictions`, or `predictions.npy`;",
        f"- `predictions/0.npy`, ...: one file for each sample, of shape {one}",
        "",
        f"as floating point numbers in the units of the context ({units!r}, not normalised, not "
        "clipped). Rows are in the order of `index.csv`; an array `sample` beside `predictions` "
        "may say otherwise. Several forecasts of each sample: one more axis after that of the "
        "samples.",
        "",
        "```python",
        "import numpy as np, zarr",
        "",
        READ[kind],
        f"predictions = np.zeros({shape}, np.float32)",
        f"for sample in range({count}):",
        f"    predictions[sample] = ...  # from context[sample], ({context}, {channels}, {height}, "
        f"{width})",
        'np.savez("predictions.npz", predictions=predictions)',
        "```",
        "",
        "Then, where the windows came from:",
        "",
        "```sh",
        "stp external import FOLDER --model NAME --reference URL "
        "--training 'what it was trained on'",
        "```",
        "",
    ]
    return "\n".join(lines)


def _files(described: dict[str, Any], kind: str) -> list[str]:
    truth = described["with_truth"]
    if kind == "mp4":
        text = "one video for each sample, by its number; LOSSY: 8 bits, colours converted"
        rows = [f"| `context/` | {text}, off by up to about 3/255 |"]
        return rows + ([f"| `truth/` | what is to be predicted, {text} |"] if truth else [])
    text = "array `context`: sample, time, channel, y, x"
    text += "; array `truth`: sample, lead, channel, y, x" if truth else ""
    return [f"| `windows.{kind}` | {text}; float32 |"]
