"""Write the README beside exported windows, which says what to submit."""

from typing import Any

READ = {
    "zarr": 'context = zarr.open("windows.zarr")["context"]  # an array that is read in parts',
    "npz": 'context = np.load("windows.npz")["context"]',
    "mp4": "context = ...  # context/000000.mp4 is sample 0, and so on; brightness / 255",
}


def readme(description: dict[str, Any], kind: str) -> str:
    """Make the text of the README beside exported windows: what to predict and to submit.

    Args:
        description: content of ``windows.json``, which describes the windows.
        kind: format of the files: zarr, npz or mp4.
    """
    channels, height, width = description["shape"]
    count, horizon, context = (description[key] for key in ("samples", "horizon", "context"))
    values, units = description["values"], description["units"]
    sample_shape = f"({horizon}, {channels}, {height}, {width})"
    shape = f"({count}, {sample_shape[1:]}"
    variables = description["variables"]
    evaluation, interval = description["evaluation"], description["interval"]
    spacing = "" if interval == 1 else f", one of every {interval} frames"
    lines = [
        f"# {count} windows of {description['dataset']} ({evaluation['subset']})",
        "",
        f"{description['source']} data, release {description['release']}; {context} context frames "
        f"of {channels} x {height} x {width} (channel, y, x){spacing}, in units "
        f"{units!r}{' (brightness 0..1)' if units == '1' else ''}. To predict: the "
        f"{horizon} frames that follow.",
        "",
        "| file | content |",
        "|---|---|",
        "| `windows.json` | description of the windows; return it with the predictions |",
        "| `index.csv` | one row for each sample: clip, cluster of dependent samples, time where "
        "known, and `window`, a checksum of its context frames; return it with the predictions |",
        *_files(description, kind),
        "",
        "`values` in `windows.json` are those of the context frames, by channel"
        + (f" ({', '.join(variables)})" if variables else "")
        + f": lowest {min(values['low']):.6g}, highest {max(values['high']):.6g}. `normalisation` "
        "has the constants of the training split: normalised = (value - offset) / scale.",
        "",
    ]
    if not evaluation["dimension"]:
        lines += [
            "These windows are for training; predictions of them cannot be imported.",
            "",
        ]
        return "\n".join(lines)
    lines += [
        "## What to return",
        "",
        "A folder with unchanged copies of `windows.json` and `index.csv`, and one of",
        "",
        f"- `predictions.zarr`, array `predictions` of shape {shape}: sample, lead, channel, y, x;",
        "- `predictions.npz`, the same under the name `predictions`, or `predictions.npy`;",
        f"- `predictions/0.npy`, ...: one file for each sample, of shape {sample_shape}",
        "",
        f"as floating point numbers in the units of the context ({units!r}, not normalised, not "
        "clipped). Rows are in the order of `index.csv`; an array `sample` beside `predictions` "
        "states another order. Several forecasts of each sample have one more axis, after the "
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
        "Then, in the project that exported the windows:",
        "",
        "```sh",
        "stp external import FOLDER --model NAME --reference URL "
        "--training 'what it was trained on'",
        "```",
        "",
    ]
    return "\n".join(lines)


def _files(description: dict[str, Any], kind: str) -> list[str]:
    truth = description["with_truth"]
    if kind == "mp4":
        text = "one video for each sample, by its number; LOSSY: 8 bits, colours converted"
        rows = [f"| `context/` | {text}, off by up to about 3/255 |"]
        return rows + ([f"| `truth/` | the frames to predict, {text} |"] if truth else [])
    text = "array `context`: sample, time, channel, y, x"
    text += "; array `truth`: sample, lead, channel, y, x" if truth else ""
    return [f"| `windows.{kind}` | {text}; float32 |"]
