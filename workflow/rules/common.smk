# what the rules of all stages share

# the wildcards of a cell, in the order of its path in the store
CELL = "/".join(
    f"{{{key}}}"
    for key in (
        "suite",
        "model",
        "variant",
        "trained_on",
        "train_subset",
        "tested_on",
        "subset",
        "setting",
        "seed",
        "fingerprint",
    )
)


def needed_by(receipt):
    """Ask the plan which receipts and lock files an artefact waits for."""
    return lambda wildcards: PLAN.inputs(PLAN.find(receipt.format(**wildcards)))
