"""Pictures of prepared opinions: rows of video frames with mean opinion scores."""

from pathlib import Path

import numpy as np

from stp.opinions.prepared import open_database
from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size, save

FORMATS = (".png",)
SHOWN = 6
"""Number of frames of each video in a picture."""


def draw_prepared(folder: Path, out: Path, *, name: str, clips: int, **_: object) -> None:
    """Draw a row of frames for each of a few videos, evenly spread from worst to best opinion.

    Args:
        folder: folder of the prepared data.
        out: path of the PNG file; an SVG file is written next to it.
        name: name of the dataset.
        clips: number of videos.

    Raises:
        StpError: the data are damaged.
    """
    database = open_database(folder, 0)
    order = np.argsort(database.mos)
    chosen = order[np.linspace(0, len(order) - 1, min(clips, len(order))).round().astype(int)]
    frames = {
        number: video.predicted
        for number, video in enumerate(database.videos())
        if number in set(chosen.tolist())
    }
    with paper_size():
        figure = new_figure(TEXT_WIDTH, 1.1 * len(chosen) + 0.4)
        axes = figure.subplots(len(chosen), SHOWN, squeeze=False)
        for row, number in zip(axes, chosen, strict=True):
            video = frames[int(number)]
            steps = np.linspace(0, len(video) - 1, SHOWN).round().astype(int)
            for axis, step in zip(row, steps, strict=True):
                axis.imshow(video[step])
                axis.set_axis_off()
                axis.set_title(f"frame {step + 1}", fontsize=5)
            title = f"{database.names[number]}: {database.mos[number]:.1f}"
            row[0].set_title(title, fontsize=5, parse_math=False)
        figure.suptitle(f"{name}: opinions from 0 to 100", fontsize=8, parse_math=False)
        save(figure, out, "The title of a row is its mean opinion score.")
