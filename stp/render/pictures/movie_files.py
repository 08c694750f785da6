"""Write movies of clips as GIF or MP4."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from stp.core.disk import atomic_path, writing
from stp.render.pictures import drawing
from stp.render.pictures.sheet import Sheet

FRAMES_PER_SECOND = 5
"""Rate of the moving picture; frames show the time of the data."""
SIZE = 3.0  # inches of the longer side of a panel
TOP = 0.75


def write(sheet: Sheet, out: Path) -> None:
    """Write a .gif or .mp4 that plays clips side by side, with a row for each variable."""
    save(list(pictures(sheet)), out)


def save(frames: list[np.ndarray], out: Path, rate: int = FRAMES_PER_SECOND) -> None:
    """Write pictures as a looping .gif or an .mp4.

    Args:
        frames: pictures, uint8 (height, width, 3), in order.
        out: path of the file.
        rate: number of pictures per second.
    """
    with writing(out), atomic_path(out) as temporary:
        if out.suffix == ".gif":
            _gif(frames, temporary, rate)
        else:
            _mp4(frames, temporary, rate)


def pictures(
    sheet: Sheet, *, side: float = SIZE, apart: float | None = None
) -> Iterator[np.ndarray]:
    """Draw each frame of a sheet as a picture, uint8 (height, width, 3), with even height and
    width.

    Args:
        sheet: content of the pictures.
        side: longer side of a panel, in inches.
        apart: gap between rows, in inches; None for a wide gap.
    """
    shape = sheet.groups[0].panels[0].frames.shape
    aspect = drawing.aspect_of(sheet)
    width, height = (side, side / aspect) if aspect > 1 else (side * aspect, side)
    n_clips = len(sheet.groups[0].panels)
    gap = 0.55 if sheet.lat is not None else 0.12
    has_bar = not all(group.is_picture for group in sheet.groups)
    below = height + (gap + 0.25 if apart is None else apart)
    across = gap + n_clips * (width + gap) + (drawing.BAR if has_bar else 0)
    note = textwrap.wrap(sheet.note, int(across * 19))
    size = round_to_even_pixels(
        across, TOP + len(sheet.groups) * below + (0.12 * len(note) + 0.12 if note else 0)
    )
    figure = drawing.new_figure(*size)
    panels_drawn = []
    for row, group in enumerate(sheet.groups):
        scale = drawing.scale_of(group)
        y = size[1] - TOP - row * below - height - 0.2
        for column, panel in enumerate(group.panels):
            if not panel.frames.size:
                continue
            box = (gap + column * (width + gap), y, width, height)
            axes = figure.add_axes(
                (box[0] / size[0], box[1] / size[1], box[2] / size[0], box[3] / size[1])
            )
            image = drawing.draw(axes, sheet, panel.frames[0], scale)
            drawing.degrees(axes, sheet, on_left=True, below=True, width=width)
            axes.set_title(panel.label.replace("\n", ", "), fontsize=7, pad=3, parse_math=False)
            panels_drawn.append((axes, image, panel))
        if not group.is_picture:
            x = gap + n_clips * (width + gap) - gap + 0.1
            bar = figure.add_axes((x / size[0], y / size[1], 0.13 / size[0], height / size[1]))
            drawing.colour_bar(figure, bar, group, scale)
    y_text = 1 - 0.08 / size[1]
    figure.text(0.08 / size[0], y_text, sheet.title, fontsize=8, va="top", weight="bold")
    if note:
        text = "\n".join(note)
        y_text = 0.08 / size[1]
        figure.text(0.08 / size[0], y_text, text, fontsize=6, color="#555555", parse_math=False)
    time = figure.text(0.08 / size[0], 1 - 0.34 / size[1], "", fontsize=9, va="top")
    for frame in range(shape[0]):
        colour = drawing.colour_of(sheet, frame)
        part = "context" if colour == drawing.CONTEXT else "horizon"
        time.set_text(f"{part} {drawing.step_text(sheet, frame)}".replace("\n", ", "))
        time.set_color(colour)
        for axes, image, panel in panels_drawn:
            drawing.redraw(image, panel.frames[frame])
            drawing.frame_of(axes, colour)
        yield pixels(figure)


def round_to_even_pixels(
    width: float, height: float, dpi: float = drawing.DPI
) -> tuple[float, float]:
    """Round a size in inches to even numbers of pixels, which video needs."""
    width, height = (2 * round(side * dpi / 2) / dpi for side in (width, height))
    return width, height


def pixels(figure: Figure) -> np.ndarray:
    """Render a figure as a picture, uint8 (height, width, 3)."""
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _gif(frames: list[np.ndarray], path: Path, rate: int) -> None:
    from PIL import Image

    images = [Image.fromarray(frame) for frame in frames]
    duration = 1000 // rate
    images[0].save(
        path, format="GIF", save_all=True, append_images=images[1:], duration=duration, loop=0
    )


def _mp4(frames: list[np.ndarray], path: Path, rate: int) -> None:
    import av

    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
