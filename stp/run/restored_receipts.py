"""Restore receipts (``artefact.json``) that Snakemake has deleted.

If a job of a group fails, Snakemake deletes the outputs of the whole group. A finished artefact has
a sealed copy of its receipt (stp/core/receipts.py), so no artefact has to be computed again.
"""

import contextlib

from stp.core import store
from stp.plan.cells import Plan


def restore_receipts(plan: Plan) -> int:
    """Restore the receipts of finished artefacts that Snakemake has deleted.

    They are restored from the sealed copies in the folders of the artefacts; nothing is restored if
    the store is not writable. Call this before asking which artefacts of a plan are finished.

    Returns:
        the number of restored receipts.
    """
    restored = 0
    for artefact in plan.artefacts.values():
        if not (plan.store / artefact.receipt).exists():
            with contextlib.suppress(OSError):
                restored += store.adopt(plan.store / artefact.folder)
    return restored
