# networks of the paper -> what they need on this machine -> Table 19 beside it
#
# Whatever the scale: the networks are those of config/paper.yaml, and nothing has to be prepared or
# trained. What a measurement is made from (options, code) is in the text of its input, whose time
# changes exactly when it has to be made again.

from stp.profiling import DATASET as DATASET_OF_TABLE
from stp.profiling.published import published


localrules:
    render_model_size,


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
        measured=lambda wildcards, input: Path(input.measured[0]).parents[1],
    shell:
        "stp models --configfile {params.config} --table {output.table}"
        " --measurements {params.measured} --log {log}"
