"""Reading of JSON files that people, other programs or another version may have written."""

import json
from pathlib import Path
from typing import Any, TypeVar

from stp.core.errors import StpError

T = TypeVar("T", dict[str, Any], list[Any])


def read_json(path: Path, kind: type[T], expected: str, remedy: str) -> T:
    """Read a file that holds an object or a list.

    Args:
        path: of the file.
        kind: dict or list.
        expected: what the file should be, for the error.
        remedy: what to do if it is not.

    Raises:
        StpError: it is missing, unreadable, no JSON, or something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StpError(f"{path}: missing", expected=expected, remedy=remedy) from None
    except (OSError, ValueError, RecursionError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})", expected=expected, remedy=remedy
        ) from error
    if not isinstance(content, kind):
        what = "an object" if isinstance(content, dict) else f"a {type(content).__name__}"
        raise StpError(
            f"{path}: holds {what} instead of {'an object' if kind is dict else 'a list'}",
            expected=expected,
            remedy=remedy,
        )
    return content


def json_or_none(path: Path) -> Any:
    """Read a file that can be made again; None where it is missing, torn, or no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
