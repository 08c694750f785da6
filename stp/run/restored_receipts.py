"""Receipts that Snakemake has deleted, put back before it looks for them.

It deletes all outputs of a submission of several jobs when one of them fails. A finished artefact
has a sealed copy of its receipt (stp/core/receipts.py), so that nothing is computed or submitted
again.
"""

import contextlib

from stp.core import store
from stp.plan.cells import Plan


def restore_receipts(plan: Plan) -> int:
    """Put back the receipts of finished artefacts, where the store can be written to.

    Returns:
        how many there were.
    """
    restored = 0
    for artefact in plan.artefacts.values():
        if not (plan.store / artefact.receipt).exists():
            with contextlib.suppress(OSError):
                restored += store.adopt(plan.store / artefact.folder)
    return restored
