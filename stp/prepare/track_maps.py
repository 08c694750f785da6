"""Read maps of obstacles (pictures with a homography, semantic grids, lists of discs) and goals."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from stp.core.errors import RawFileError, StpError
from stp.core.limits import require_pixels
from stp.prepare.track_readers import numbers
from stp.tracks.obstacles import Obstacles, cells, discs
from stp.tracks.surface import Surface

DAMAGED = (
    *(OSError, ValueError, SyntaxError, struct.error, zlib.error, MemoryError),
    Image.DecompressionBombError,
)
"""Exceptions of Pillow for damaged pictures."""


def read_picture(picture: Path, homography: Path) -> Obstacles:
    """Read an obstacle map: white pixels are obstacles (ETH, HOTEL).

    Rows come before columns in the homography, as in the released code of Atlas.

    Args:
        picture: grey picture; 255 is an obstacle.
        homography: text file with the 3 x 3 matrix from (row, column, 1) to metres.

    Raises:
        StpError: a file cannot be read, no pixel is white, or the matrix is singular.
    """
    try:
        with Image.open(picture) as opened:
            require_pixels(picture, *opened.size)
            if opened.mode.startswith(("I", "F")):  # Pillow clips larger values to 255
                raise RawFileError(
                    picture,
                    f"pixels of kind {opened.mode}",
                    expected="a picture with 8 bits a channel",
                    remedy="convert it (ImageMagick: magick IN -depth 8 OUT)",
                )
            grey = np.asarray(opened.convert("L"))
    except DAMAGED as error:
        raise RawFileError(
            picture,
            f"cannot be read ({error})",
            expected="a picture whose white pixels are obstacles",
        ) from None
    expected = "a homography: 3 rows of 3 numbers, from (row, column, 1) to metres"
    matrix = numbers.read(homography, expected)
    if matrix.shape != (3, 3):
        raise RawFileError(
            homography, f"{matrix.shape[0]} x {matrix.shape[1]} numbers", expected=expected
        )
    pixels = np.argwhere(grey == 255)
    if not len(pixels):
        raise StpError(
            f"{picture}: no pixel is 255",
            expected="obstacles in white",
            remedy="paint them white, or remove the map",
        )
    world = np.column_stack([pixels, np.ones(len(pixels))]) @ matrix.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        position = world[:, :2] / world[:, 2:]
    flat = abs(np.linalg.det(matrix / np.abs(matrix).max(initial=1e-300))) < 1e-14
    if flat or not np.isfinite(position).all():
        raise RawFileError(homography, "a singular matrix", expected=expected)
    return cells(position)


def read_surface(path: Path, classes: Path | None = None) -> Surface:
    """Read a semantic grid of Atlas: ndjson with one ``map`` and a ``surface`` for each cell.

    The map's angle is 0 in all released files, and never used by the released code; other angles
    are refused.

    Args:
        path: path of the file.
        classes: ndjson with a ``surf_class`` for each class: its id and name.

    Raises:
        StpError: a file cannot be read, has no map or lacks cells, or the map is rotated.
    """
    about: dict[str, Any] | None = None
    rows = []
    for line, entry in _entries(path, "a semantic grid: a line with map, and lines with surface"):
        try:
            about = entry.get("map", about)
            if "surface" in entry:
                cell = entry["surface"]
                rows.append((int(cell["x"]), int(cell["y"]), int(cell["surf_class"])))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RawFileError(
                path,
                f"line {line} cannot be read ({error!r})",
                expected='{"surface": {"x": row, "y": column, "surf_class": class}}',
            ) from None
    try:
        origin = (float(about["origin_x"]), float(about["origin_y"]))  # type: ignore[index]
        size, turned = float(about["resolution"]), float(about["theta"])  # type: ignore[index]
        height, width = int(about["h"]), int(about["w"])  # type: ignore[index]
    except (ValueError, KeyError, TypeError) as error:
        raise RawFileError(
            path,
            f"no line with a whole map ({error!r})",
            expected="origin_x, origin_y, theta, h, w and resolution",
        ) from None
    if turned or not size > 0 or not np.isfinite([*origin, size]).all():
        raise StpError(
            f"{path}: the map is turned by {turned:g}, has its origin at {origin} and cells of "
            f"{size:g} m",
            expected="theta 0, and sizes in metres",
            remedy="write the map along the axes of the tracks",
        )
    grid = np.array(rows, np.int64).reshape(-1, 3)
    inside = (grid[:, :2] >= 0).all(axis=1) & (grid[:, 0] < height) & (grid[:, 1] < width)
    distinct = len(np.unique(grid[inside, 0] * width + grid[inside, 1]))
    if len(grid) != height * width or distinct != len(grid):
        raise RawFileError(
            path,
            f"{len(grid)} cells, {distinct} distinct ones within the map",
            expected=f"{height * width}, height times width",
        )
    names = {} if classes is None else _class_names(classes)
    return Surface(grid[:, :2] * size + origin, grid[:, 2], size, names)


def _class_names(path: Path) -> dict[int, str]:
    expected = '{"surf_class": {"id": number, "name": name}}'
    names = {}
    for line, entry in _entries(path, f"a line for each class: {expected}"):
        try:
            names[int(entry["surf_class"]["id"])] = str(entry["surf_class"]["name"])
        except (ValueError, KeyError, TypeError) as error:
            problem = f"line {line} cannot be read ({error!r})"
            raise RawFileError(path, problem, expected=expected) from None
    return names


def _entries(path: Path, expected: str) -> list[tuple[int, Any]]:
    """The JSON objects of a file, with the numbers of their lines."""
    entries = []
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                entries.append((number, json.loads(line)))
    except ValueError as error:
        line = "" if isinstance(error, UnicodeDecodeError) else f"line {len(entries) + 1} "
        raise RawFileError(path, f"{line}cannot be read ({error})", expected=expected) from None
    except OSError as error:
        raise RawFileError(path, f"cannot be read ({error})", expected=expected) from None
    return entries


def of_surface(surface: Surface, path: Path, kind: int = 1) -> Obstacles:
    """Obstacles from a semantic grid: cells that people cannot walk on, including those beyond the
    walls (THÖR).

    Args:
        surface: the semantic grid.
        path: path of the file of the grid, for the error.
        kind: number of the class of obstacles.

    Raises:
        StpError: the grid has no cells of this class.
    """
    blocked = surface.position[surface.kind == kind]
    if not len(blocked):
        raise StpError(
            f"{path}: no cell is of class {kind}",
            remedy="remove the map",
        )
    return cells(blocked)


def read_discs(path: Path) -> Obstacles:
    """Read round obstacles: rows of x, y and radius in metres.

    Raises:
        StpError: the file cannot be read or has other columns, or a radius is negative.
    """
    table = numbers.read(path, "rows of x, y and radius in metres", {3})
    if (table[:, 2] < 0).any():
        raise StpError(
            f"{path}: a radius of {table[:, 2].min():g} m",
            expected="radii from 0",
            remedy="fix the file",
        )
    return discs(table[:, :2], table[:, 2])


FAR = 1000.0
"""Distance in metres from all detections beyond which a goal is an error of the file."""


def read_goals(path: Path) -> np.ndarray:
    """Read goals, places that people walk to: rows of x and y in metres.

    Returns:
        positions of goals, float64 (G, 2), metres.

    Raises:
        StpError: the file cannot be read or has other columns.
    """
    return numbers.read(path, "goals: rows of x and y in metres", {2})


def absurd_goals(goals: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Find goals (places that people walk to) more than a kilometre away from all detections.

    These are errors of the file: the dataset HOTEL has two.

    Args:
        goals: goals, (G, 2), metres.
        position: positions of detections, (R, 2), metres.

    Returns:
        mask of these goals, bool (G,).
    """
    low, high = position.min(axis=0), position.max(axis=0)
    beyond = np.maximum(np.maximum(low - goals, goals - high), 0)
    return np.asarray(np.linalg.norm(beyond, axis=1) > FAR)


def obstacle_mask(obstacles: Obstacles, position: np.ndarray) -> np.ndarray:
    """Mask of the detections that are on an obstacle, (R,).

    Args:
        obstacles: discs, or cells that extend halfway to the neighbouring cells.
        position: positions of detections, (R, 2), metres.
    """
    nearest, radius = obstacles.nearest(position)
    away = np.linalg.norm(nearest - position, axis=1)
    if obstacles.kind == "discs":
        return np.asarray(away < radius)
    if len(obstacles.position) < 2:
        return np.zeros(len(position), bool)
    return np.asarray(away < obstacles.spacing / 2)


def check_covered(obstacles: Obstacles, position: np.ndarray, name: str) -> int:
    """Refuse obstacles if most detections are on them.

    Args:
        obstacles: the obstacles.
        position: positions of detections, (R, 2), metres.
        name: name of the map, for the error.

    Returns:
        number of detections that are on an obstacle.

    Raises:
        StpError: more than half of the detections are on an obstacle.
    """
    count = int(obstacle_mask(obstacles, position).sum())
    if count > len(position) / 2:
        raise StpError(
            f"{name}: obstacles cover {count} of {len(position)} detections",
            expected="free ground where people walk",
            remedy="check that white means obstacle, that rows come before columns in the "
            "homography, and that map and tracks have the same units and origin",
        )
    return count
