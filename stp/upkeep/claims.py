"""Claims: records of which artefacts of a shared store a checkout needs.

`stp store gc` sees only the plans of its own checkout; claims name what other checkouts need.
"""

import json
import socket
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from stp.core.disk import write_text, write_text_once
from stp.core.errors import FileError
from stp.core.fingerprint import digest
from stp.core.json_files import read_json
from stp.core.provenance import user
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.results import RESULTS


@dataclass(frozen=True)
class Claim:
    """A record of the artefacts (folders in a shared store) that one checkout needs.

    Attributes:
        path: path of the file of the claim in the store.
        checkout: folder of the checkout.
        host: name of the machine of the checkout.
        user: user who started the run.
        scale: name of the scale.
        time: start of the last run of the checkout, as Unix time.
        artefacts: for the folder of each needed artefact, the folders of the artefacts that it is
            made from; all are relative to the store.
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


def inputs_by_artefact(plan: Plan) -> dict[str, list[str]]:
    """List which artefacts (folders that jobs write) each artefact of a plan is made from.

    Args:
        plan: the plan.

    Returns:
        for the folder of each artefact, the folders of its inputs, relative to the store. Raw files
        are left out.
    """
    return {
        folder: [v.folder for v in artefact.inputs.values() if isinstance(v, Artefact)]
        for folder, artefact in plan.artefacts.items()
    }


def claim(plan: Plan, results: Path = RESULTS) -> Path:
    """Record in the store which artefacts this checkout needs for a scale.

    The record (claim) replaces an older one of this checkout for the same scale.

    Args:
        plan: the plan of a run that begins.
        results: folder of results of the checkout, which contains the ID of the checkout.

    Returns:
        path of the file of the claim.
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
        "artefacts": inputs_by_artefact(plan),
    }
    path = plan.store / "state" / "plans" / f"{digest([name.read_text(), checkout, scale])}.json"
    write_text(path, json.dumps(content, indent=0))
    return path


def read_claims(store: Path) -> list[Claim]:
    """Read all claims (records of what checkouts need) on a store, the latest first.

    Raises:
        StpError: a claim cannot be read, so its artefacts are unknown.
    """
    claims = []
    remedy = "start a run in that checkout again, or delete the file"
    for path in (store / "state" / "plans").glob("*.json"):
        try:
            claims.append(Claim(path=path, **read_json(path, dict, "a claim of a run", remedy)))
        except TypeError as error:
            raise FileError(path, f"cannot be read ({error})", remedy=remedy) from None
    return sorted(claims, key=lambda claim: -claim.time)
