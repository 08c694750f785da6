# networks of the paper -> what they need on this machine -> Table 19 beside it
#
# Whatever the scale: the networks are those of config/paper.yaml, and nothing has to be prepared or
# trained. What a measurement is made from (options, code) is in the text of its input, whose time
# changes exactly when it has to be made again.

from stp.profiling import DATASET as DATASET_OF_TABLE
from stp.profiling.published import published


localrules:
    render_model_size,


# Measured alone: a job takes all cores of this machine, or what a cluster's job asks for.
PROFILE_THREADS = workflow.resource_settings.cores or 8


def asks_profile():
    """The resources of a measurement."""

    def ask(name):
        return lambda wildcards: RESOURCES.of_profile(PROFILE_THREADS).get(name)

    return {name: ask(name) for name in ASKED}


rule profile:
    input:
        lambda wildcards: workflow_files.write_profile_input(
            wildcards.model, wildcards.dataset, workflow.is_main_process
        ),
    output:
        measured="results/profile/{model}/{dataset}.json",
    log:
        "results/logs/profile/{model}/{dataset}.log",
    conda:
        "../../envs/stp.yaml"
    threads: PROFILE_THREADS
    resources:
        **asks_profile(),
    params:
        config="config/paper.yaml",
        seconds=5,
    shell:
        "stp profile {wildcards.model} {wildcards.dataset} --configfile {params.config}"
        " --threads {threads} --seconds {params.seconds} --out {output.measured} --log {log}"


rule render_model_size:
    input:
        lambda wildcards: workflow_files.write_model_size_input(
            workflow.is_main_process
        ),
        measured=[
            f"results/profile/{model}/{DATASET_OF_TABLE}.json"
            for model in published(PLAN.config)
        ],
    output:
        table="results/tables/model_size.csv",
        markdown="results/tables/model_size.md",
    log:
        "results/logs/render/model_size.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        config="config/paper.yaml",
        measured="results/profile",
    shell:
        "stp models --configfile {params.config} --table {output.table}"
        " --measurements {params.measured} --log {log}"
