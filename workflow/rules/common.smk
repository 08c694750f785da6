# what the rules of all stages share

# the wildcards of a cell, in the order of its path in the store
_KEYS = (
    "suite",
    "model",
    "variant",
    "trained_on",
    "train_subset",
    "tested_on",
    "subset",
    "setting",
    "seed",
)
_CELL = str(Path(*[f"{{{key}}}" for key in _KEYS]))
CELL = f"{_CELL}/{{fingerprint}}"
PERCEPTUAL_CELL = f"{_CELL}/{PERCEPTUAL}/{{fingerprint}}"


def needed_by(receipt):
    """Ask the plan which receipts and lock files an artefact waits for."""
    return lambda wildcards: PLAN.inputs(PLAN.find(receipt.format(**wildcards)))


def manifest_of(wildcards):
    """What the table of a dimension is made from, if the scale has that dimension."""
    if wildcards.dimension not in MANIFESTS:
        raise StpError(
            f"the scale {PLAN.config.scale.scale} has no dimension {wildcards.dimension}",
            expected=f"one of {', '.join(MANIFESTS)}",
            remedy="declare it under `dimensions:` in the scale file",
        )
    return MANIFESTS[wildcards.dimension]


# Resources are functions, asked once per job and again before every retry (stp/cluster/resources.py). Names
# that the site does not set are left out.
ASKED = ["mem_mb", "runtime", "slurm_extra"]
ASKED += ["gres" if SITE.gpu.request == "gres" else "gpu"]
ASKED += [name for name in SITE_RESOURCES if RESOURCES.site_sets(name)]


def asks(receipt):
    """All resources of a rule: what its artefact is expected to need, in this site's words."""

    def ask(name):
        return lambda wildcards, attempt: RESOURCES.of(
            receipt.format(**wildcards), attempt
        ).get(name)

    return {name: ask(name) for name in ASKED}


def asks_fetch(lock):
    """The resources of a download."""

    def ask(name):
        return lambda wildcards: RESOURCES.of_fetch(lock.format(**wildcards)).get(name)

    return {name: ask(name) for name in ASKED}


def threads_of(receipt):
    """CPU threads, of all processes of a job together."""
    return lambda wildcards: RESOURCES.of(receipt.format(**wildcards))["threads"]


def group_of(receipt):
    """Short jobs are submitted together."""
    return lambda wildcards: RESOURCES.group(receipt.format(**wildcards))
