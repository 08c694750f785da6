"""One metric edited: jobs of the suite that uses it run again, and no others. Slurm counts them."""

import shutil
from collections.abc import Collection
from pathlib import Path

import pytest
from acts import name
from scenario import Driver, Scenario

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm]
FIELDS = Path(__file__).with_name("fields.yaml")
SCORED = {"persistence": "s2s_control", "ecmwf": "s2s_control", "ecmwf_ensemble": "s2s_ensemble"}
"""Forecasts of fields, and their dimensions."""
TABLES = [f"results/tables/{dimension}.csv" for dimension in sorted(set(SCORED.values()))]
STAGES = "rule_(fetch|prepare|train|predict|score)"


def edited_metric(run: Scenario, quiet: Scenario) -> None:
    """A metric of ensembles, then one of all forecasts of fields; a suite of videos stands by."""
    run.take_all_but(quiet)
    run.configure(site={"group_minutes": 0})  # a Slurm job for each
    shutil.copy2(FIELDS, run.folder)
    for model in ("ecmwf", "ecmwf_ensemble"):  # of the same coarse world, four starts
        run.edit(f"config/models/{model}.yaml", "degrees: 9", "degrees: 30")
        run.edit(f"config/models/{model}.yaml", "2022-11-16", "2022-02-18")
    fields(run).succeed()
    assert jobs_of(run) == sorted(SCORED)
    assert len(run.jobs("rule_score_")) == len(SCORED), "videos were scored before"
    for metric, models in (("rank_histogram", ["ecmwf_ensemble"]), ("bias", sorted(SCORED))):
        before, receipts = set(run.jobs()), run.receipts()
        run.edit(f"stp/metrics/{metric}.py")
        fields(run).succeed()
        run.start().succeed()
        assert jobs_of(run, before) == models, metric
        assert len(set(run.jobs(STAGES)) - before) == len(models), metric
        new = run.receipts()
        assert {path: new[path] for path in receipts} == receipts, "finished work was touched"
        assert len(new) - len(receipts) == len(models)


def fields(run: Scenario) -> Driver:
    """Ask for the tables of fields."""
    command = ("snakemake", "--profile", "slurm", "--configfile", FIELDS.name, "--", *TABLES)
    return run._start(*command)


def jobs_of(run: Scenario, before: Collection[str] = ()) -> list[str]:
    """The forecasts of fields that were scored in a job which is not one of those before."""
    return sorted(
        model
        for model, dimension in SCORED.items()
        if set(run.jobs(f"rule_score_{dimension}_.*_{model}_")) - set(before)
    )


@pytest.mark.long(part="slurm-jobs")
@pytest.mark.parametrize("scenario", [edited_metric], ids=name)
def test_edit(scenario, started):
    started[scenario].result()
