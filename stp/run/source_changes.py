"""Check that the code did not change while a job ran."""

from stp.core.errors import StpError
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.code_fingerprint import CodeOfPlan


def refuse_if_changed(plan: Plan, artefact: Artefact) -> None:
    """Refuse to publish an artefact (results of a job) whose code changed while it was being made.

    Only the code that this job runs is compared. Code of jobs that made inputs may have been edited
    meanwhile: it changes the fingerprints of these inputs and of the artefact, so the next plan
    makes all of them anew in other folders, and nothing in this folder is mislabelled.

    Args:
        plan: plan of the artefact, made before the job started.
        artefact: the artefact that was made.

    Raises:
        StpError: the code of this job was edited since it started.
    """
    code = CodeOfPlan(plan.config, plan.source)
    same = code.of(*artefact.code.modules).modules == artefact.code.modules
    if same and code.declared_checksums(artefact.entries) == artefact.recipe.get("reads", {}):
        return
    now = Plan(plan.config, plan.source)
    if artefact.folder in now.artefacts:
        return
    before = dict(artefact.code.modules)
    parent = artefact.folder.rpartition("/")[0]
    changed = sorted(
        module
        for folder, other in now.artefacts.items()
        if folder.rpartition("/")[0] == parent
        for module, value in other.code.modules.items()
        if before.get(module) != value
    )
    raise StpError(
        f"the code changed while {artefact.stage} of {artefact.label} was running: "
        f"{', '.join(changed) or 'an input of it'}",
        remedy="run snakemake again, and edit another checkout while long jobs run",
    )
