"""Whether the checkout was edited while a job ran."""

from stp.core.errors import StpError
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.code_fingerprint import CodeOfPlan


def refuse_if_changed(plan: Plan, artefact: Artefact) -> None:
    """Refuse to publish what another code made than the path says.

    An edit of code that only its inputs were made with is none of its business: the next plan has
    another path for both.

    Raises:
        StpError: the checkout was edited since this job started.
    """
    code = CodeOfPlan(plan.config, plan.source)
    same = code.of(*artefact.code.modules).modules == artefact.code.modules
    if same and code.declared(artefact.entries) == artefact.recipe.get("reads", {}):
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
        expected="the same code at the start and at the end of a job",
        remedy="run snakemake again; work in another checkout while long jobs run",
    )
