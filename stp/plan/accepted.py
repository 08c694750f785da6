"""Artefacts of older code that a user declared current (`stp store accept`).

Each declaration is a file of the store, ``accepted/<new fingerprint>.json``. While the older
artefact exists, the plan uses it in place of the artefact with the new fingerprint, so everything
made from the older artefact stays current as well. Receipts are never changed.
"""

from pathlib import Path

from pydantic import ValidationError

from stp.core.errors import StpError
from stp.core.receipts import read_receipt
from stp.plan.checked_config import Strict

FOLDER = "accepted"


class Accepted(Strict):
    """A user's declaration that an artefact (folder of one job) made by older code is current.

    Attributes:
        stage: stage of the artefact.
        address: parent folder of both artefacts, relative to the store.
        recipe: hash of the recipe, which includes the seed.
        old: fingerprint of the older artefact.
        new: fingerprint of the artefact with the current code.
        reason: reason why both are equivalent, in the user's words.
        author: account of the user.
        commit: commit of the checkout at the time of the declaration; None if unknown.
        date: date of the declaration (UTC, ISO 8601).
    """

    stage: str
    address: str
    recipe: str
    old: str
    new: str
    reason: str
    author: str
    commit: str | None
    date: str

    @property
    def text(self) -> str:
        """Format the declaration as a footnote of tables."""
        at = f", commit {self.commit}" if self.commit else ""
        return (
            f"ACCEPTED: {self.stage} by older code: {self.reason} ({self.author}{at}, {self.date})"
        )


def entry_path(store: Path, new: str) -> Path:
    """Path of the file with the declaration that an older artefact is current.

    Args:
        store: folder of the store.
        new: fingerprint that the artefact of the current code would have.
    """
    return store / FOLDER / f"{new}.json"


def read_accepted(store: Path) -> dict[str, Accepted]:
    """Read all declarations of users that older artefacts are current.

    Declarations about artefacts that were deleted since then are left out.

    Args:
        store: folder of the store.

    Returns:
        declarations by the current fingerprint (`Accepted.new`), for which the older artefact
        stands in.

    Raises:
        StpError: a file in ``accepted/`` is not a valid declaration.
    """
    entries: dict[str, Accepted] = {}
    for path in sorted((store / FOLDER).glob("*.json")):
        try:
            entry = Accepted.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            entry = None
        if entry is None or path.stem != entry.new:
            raise StpError(
                f"{path} is no entry of an accepted artefact",
                remedy="delete it, and run `stp store accept` again",
            )
        if read_receipt(store / entry.address / entry.old) is not None:
            entries[entry.new] = entry
    return entries
