"""Which artefacts each checkout needs, written into the store that it shares with others.

Whoever collects garbage sees only the plans of their own checkout; the claims tell of the others.
"""

import json
import socket
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from stp.core.disk import write_text, write_text_once
from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.json_files import read_json
from stp.core.provenance import user
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.results import RESULTS


@dataclass(frozen=True)
class Claim:
    """What one checkout needs for one scale.

    Attributes:
        path: its file in the store.
        checkout: folder of the checkout on ``host``.
        time: when a run was last started there, as Unix time.
        artefacts: folders relative to the store, each with those that it is made from.
    """

    path: Path
    checkout: str
    host: str
    user: str
    scale: str
    time: float
    artefacts: dict[str, list[str]]

    def __str__(self) -> str:
        day = time.strftime("%Y-%m-%d", time.localtime(self.time))
        return f"{self.scale} in {self.checkout} ({self.user} on {self.host}, {day})"


def made_from(plan: Plan) -> dict[str, list[str]]:
    """Map the artefact folders of a plan to those that they are made from."""
    return {
        folder: [v.folder for v in artefact.inputs.values() if isinstance(v, Artefact)]
        for folder, artefact in plan.artefacts.items()
    }


def claim(plan: Plan, results: Path = RESULTS) -> Path:
    """Write down what this checkout needs; an older claim of the same scale is replaced.

    Args:
        plan: the plan of a run that begins.
        results: the checkout's folder of results; its name for this checkout is kept there.

    Returns:
        the file.
    """
    # The same path on two machines may be two checkouts, or one on a shared disk.
    name = results / ".checkout"
    write_text_once(name, uuid.uuid4().hex + "\n")
    checkout, scale = str(results.absolute().parent), plan.config.scale.scale
    content = {
        "checkout": checkout,
        "host": socket.gethostname(),
        "user": user(),
        "scale": scale,
        "time": time.time(),
        "artefacts": made_from(plan),
    }
    path = plan.store / "state" / "plans" / f"{digest([name.read_text(), checkout, scale])}.json"
    write_text(path, json.dumps(content, indent=0))
    return path


def read_claims(store: Path) -> list[Claim]:
    """Read all claims on a store, the latest first.

    Raises:
        StpError: a claim cannot be read, so that it is unknown what it needs.
    """
    claims = []
    for path in (store / "state" / "plans").glob("*.json"):
        expected = "what a checkout needs, as `stp status --start` writes it"
        remedy = "start a run in that checkout again, or delete the file"
        try:
            claims.append(Claim(path=path, **read_json(path, dict, expected, remedy)))
        except TypeError as error:
            raise StpError(
                f"{path}: cannot be read ({error})", expected=expected, remedy=remedy
            ) from None
    return sorted(claims, key=lambda claim: -claim.time)
