"""Read JSON files whose content cannot be trusted, since people or other programs wrote them."""

import json
from pathlib import Path
from typing import Any, TypeVar

from stp.core.errors import ArtefactError, FileError

Json = dict[str, Any]
"""A JSON object; the types of its values depend on their keys."""
T = TypeVar("T", Json, list[Any])


def read_json(
    path: Path,
    kind: type[T],
    expected: str,
    remedy: str | None = None,
    error: type[FileError] = ArtefactError,
) -> T:
    """Read a file that holds an object or a list.

    Args:
        path: path of the file.
        kind: type of the content, dict or list.
        expected: description of the expected content, for the error.
        remedy: remedy in the error; None for the usual remedy of its class.
        error: class of the error.

    Raises:
        FileError: the file is missing, unreadable, not JSON, or contains another kind of value.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(path, "missing", expected=expected, remedy=remedy) from None
    except (OSError, ValueError, RecursionError) as problem:
        raise error(
            path, f"cannot be read ({problem})", expected=expected, remedy=remedy
        ) from problem
    if not isinstance(content, kind):
        actual = "an object" if isinstance(content, dict) else f"a {type(content).__name__}"
        raise error(
            path,
            f"holds {actual} instead of {'an object' if kind is dict else 'a list'}",
            expected=expected,
            remedy=remedy,
        )
    return content


def json_or_none(path: Path) -> Any:
    """Read a JSON file that can be made again; None if it is missing or not valid JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
