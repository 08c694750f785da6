"""Read what people walk around: pictures with a homography, semantic grids, and lists of discs."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from stp.errors import StpError
from stp.motion.obstacles import Obstacles, cells, discs


def read_picture(picture: Path, homography: Path) -> Obstacles:
    """Read an obstacle map: white pixels are obstacles (ETH, HOTEL).

    Rows come before columns in the homography, as in the released code of Atlas.

    Args:
        picture: of the map, grey; 255 is an obstacle.
        homography: text file of 3 x 3 numbers, from (row, column, 1) to metres.

    Raises:
        StpError: a file cannot be read, or no pixel is white.
    """
    try:
        with Image.open(picture) as opened:
            grey = np.asarray(opened.convert("L"))
    except OSError as error:
        raise StpError(f"{picture}: cannot be read ({error})", expected="a picture") from None
    matrix = _numbers(homography, "a homography: 3 rows of 3 numbers")
    if matrix.shape != (3, 3):
        raise StpError(
            f"{homography}: {matrix.shape[0]} x {matrix.shape[1]} numbers",
            expected="a homography: 3 rows of 3 numbers",
        )
    pixels = np.argwhere(grey == 255)
    if not len(pixels):
        raise StpError(f"{picture}: no pixel is 255", expected="obstacles in white")
    world = np.column_stack([pixels, np.ones(len(pixels))]) @ matrix.T
    return cells(world[:, :2] / world[:, 2:])


def read_grid(path: Path, obstacle_class: int = 1) -> Obstacles:
    """Read a semantic grid of Atlas: ndjson with one ``map`` and a ``surface`` for each cell.

    Cells beyond the walls are obstacles as well (THÖR). The map's angle is 0 in all released files,
    and never used by the released code; another one is refused.

    Args:
        path: of the file.
        obstacle_class: number of the class that people cannot walk on.

    Raises:
        StpError: the file cannot be read, has no map, is turned, or lacks cells.
    """
    about, rows = None, []
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                about = entry.get("map", about)
                if "surface" in entry:
                    cell = entry["surface"]
                    rows.append((cell["x"], cell["y"], cell["surf_class"]))
        origin = (float(about["origin_x"]), float(about["origin_y"]))  # type: ignore[index]
        size, turned = float(about["resolution"]), float(about["theta"])  # type: ignore[index]
        wanted = int(about["h"]) * int(about["w"])  # type: ignore[index]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StpError(
            f"{path}: cannot be read ({error!r})",
            expected="a semantic grid: a line with map, and lines with surface",
            remedy="fetch the file again",
        ) from None
    if turned:
        raise StpError(f"{path}: the map is turned by {turned}", expected="theta 0")
    if len(rows) != wanted:
        raise StpError(
            f"{path}: {len(rows)} cells", expected=f"{wanted} of them, height times width"
        )
    grid = np.array(rows)
    blocked = grid[grid[:, 2] == obstacle_class, :2]
    return cells(blocked * size + origin)


def read_discs(path: Path) -> Obstacles:
    """Read round obstacles: rows of x, y and radius in metres.

    Raises:
        StpError: the file cannot be read or has other columns.
    """
    table = _numbers(path, "rows of x, y and radius")
    if table.shape[1] != 3:
        raise StpError(f"{path}: {table.shape[1]} columns", expected="x, y and radius")
    return discs(table[:, :2], table[:, 2])


def _numbers(path: Path, expected: str) -> np.ndarray:
    try:
        return np.loadtxt(path, ndmin=2)
    except (OSError, ValueError) as error:
        raise StpError(f"{path}: cannot be read ({error})", expected=expected) from None
