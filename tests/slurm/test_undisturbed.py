"""From nothing to the table on a real Slurm: the literal command, side by side, GPUs asked for."""

import json

import pytest
from asking import ask
from checkout import TABLE
from scenario import SNAKEMAKE

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm]


def test_the_literal_command_makes_the_table_and_leaves_nothing_to_do(undisturbed):
    table = (undisturbed.folder / TABLE).read_text().splitlines()
    assert len(table) == 1 + 4  # the heading, a row per model, and one of two settings
    assert "[11/11]" in undisturbed.drivers[0].text
    again = undisturbed.run(*SNAKEMAKE, "-n", "--", TABLE)
    assert "Nothing to be done" in again.stdout


def test_a_setting_of_two_keys_survives_the_command_line_of_a_job(undisturbed):
    """With a comma between its keys, Snakemake of the job refused its own command line."""
    jobs = undisturbed.jobs(r"rule_(predict|score)_short_term_.*_horizon-10\+interval-1_")
    assert len(jobs) == 2
    (rows,) = ask(
        undisturbed.database,
        "SELECT count(*) FROM cells JOIN settings USING (setting) WHERE interval = 1",
    )
    assert rows == (1,)


def test_jobs_ran_side_by_side(undisturbed):
    first, second = (undisturbed.receipt("models", name) for name in ("convlstm", "simvpv2"))
    one, other = first["provenance"], second["provenance"]
    assert max(one["started"], other["started"]) < min(one["finished"], other["finished"])


def test_networks_have_a_gpu_and_nothing_else_has(undisturbed):
    """As the tasks of the jobs saw it, in CUDA_VISIBLE_DEVICES."""
    visible = undisturbed.cluster.visible_gpus()
    networks = undisturbed.jobs("rule_(train|predict_short_term)_.*(convlstm|simvpv2)")
    assert len(networks) == 4
    for job in networks:
        assert visible[job] in ({"0"}, {"1"}), job
    for job in set(undisturbed.jobs()) - set(networks):
        assert visible[job] == {"none"}, job


def test_the_two_trainings_had_different_gpus(undisturbed):
    visible = undisturbed.cluster.visible_gpus()
    seen = [visible[job] for job in undisturbed.jobs("rule_train_.*(convlstm|simvpv2)")]
    assert sorted(map(sorted, seen)) == [["0"], ["1"]]


def test_receipts_say_which_slurm_job_made_them(undisturbed):
    jobs = undisturbed.jobs()
    for path in undisturbed.store.glob("*/**/artefact.json"):
        (attempt,) = json.loads(path.read_text())["attempts"]
        assert attempt["how"] == "done" and attempt["slurm_job"] in jobs
