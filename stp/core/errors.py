"""Errors that users see: what is wrong, what was expected, what to do."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_FINGERPRINT = re.compile("[0-9a-f]{16}")


class StpError(Exception):
    """A problem that a person can fix.

    Args:
        what: the problem, with the name of the file, key or argument.
        expected: what was expected instead.
        remedy: what to do about it.
    """

    def __init__(self, what: str, *, expected: str = "", remedy: str = "") -> None:
        self.what, self.expected, self.remedy = what, expected, remedy
        lines = [what]
        if expected:
            lines.append(f"expected: {expected}")
        if remedy:
            lines.append(f"remedy: {remedy}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        # Worker processes raise these too; the arguments of subclasses differ.
        return _restore_error, (type(self), self.what, self.expected, self.remedy)


def _restore_error(kind: type[StpError], what: str, expected: str, remedy: str) -> StpError:
    error = kind.__new__(kind)
    StpError.__init__(error, what, expected=expected, remedy=remedy)
    return error


class FileError(StpError):
    """A file is missing, damaged, or does not have the expected content.

    Args:
        path: the file or folder, or the name of a part of a file.
        problem: the problem with the file.
        expected: what the file should hold.
        remedy: what to do; by default `usual_remedy` of the class.
    """

    def __init__(
        self, path: Path | str, problem: str, *, expected: str = "", remedy: str | None = None
    ) -> None:
        super().__init__(
            f"{path}: {problem}",
            expected=expected,
            remedy=self.usual_remedy(path) if remedy is None else remedy,
        )

    @staticmethod
    def usual_remedy(path: Path | str) -> str:
        """The default remedy for a file of this class, in words."""
        return ""


class ArtefactError(FileError):
    """A file written by a stage is missing, damaged, or does not have the expected content."""

    @staticmethod
    def usual_remedy(path: Path | str) -> str:
        """Advice to delete the artefact of the file, and to make it again."""
        return remake_advice(artefact_of(Path(path)))


class RawFileError(FileError):
    """A raw file is missing, damaged, or does not have the expected content."""

    @staticmethod
    def usual_remedy(path: Path | str) -> str:
        """Advice to fetch the file again."""
        return "fetch the file again"


class ConfigurationError(StpError):
    """A value of the configuration is wrong."""

    def __init__(
        self, what: str, *, expected: str = "", remedy: str = "change it in the configuration"
    ) -> None:
        super().__init__(what, expected=expected, remedy=remedy)


def artefact_of(path: Path) -> Path:
    """Find the artefact (folder that a stage wrote) to which a file belongs.

    It is the parent folder whose name is a fingerprint, 16 hexadecimal digits.

    Args:
        path: path of the file or of the folder itself.

    Returns:
        the artefact folder; the parent of ``path`` if no folder above it is named by a fingerprint.
    """
    artefacts = (folder for folder in (path, *path.parents) if _FINGERPRINT.fullmatch(folder.name))
    return next(artefacts, path.parent)


def remake_advice(folder: Path) -> str:
    """Advice to delete an artefact (folder that a stage wrote) and make it again, for an error.

    The whole folder has to be deleted: while a copy of its receipt exists, the artefact counts as
    finished, and is not made again.
    """
    return f"delete the folder, and run again to make it anew: rm -r {folder}"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Suggest the known name nearest to an unknown one; if none is near, list up to 30 of them."""
    known, most = sorted(known), 30
    initials = "".join(word[:1] for word in name.split("_"))  # learning_rate: lr
    close = difflib.get_close_matches(name, known, n=1)
    close = close or [abbreviation for abbreviation in known if abbreviation == initials]
    if close:
        return f"did you mean {close[0]}?"
    more = f", and {len(known) - most} more" if len(known) > most else ""
    return f"known: {', '.join(known[:most])}{more}"
