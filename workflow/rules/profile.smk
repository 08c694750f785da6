# networks of the paper -> what they need on this machine -> Table 19 beside it
#
# Whatever the scale: the networks are those of config/paper.yaml, and nothing has to be prepared or
# trained. What a measurement is made from (options, code) is in the text of its input, whose time
# changes exactly when it has to be made again.

from stp.profiling import DATASET as DATASET_OF_TABLE
from stp.profiling.published import published

NETWORKS = published(PLAN.config)
# Written now: Snakemake looks through the folder only once.
SPEEDS_INPUT = workflow_files.write_table_input(
    "model_speed", ["stp.profiling.table"], PLAN, workflow.is_main_process
)
# Speeds take minutes and are those of this machine: only on demand.


localrules:
    render_model_speed,


rule profile:
    input:
        lambda wildcards: workflow_files.write_profile_input(
            wildcards.model, wildcards.dataset, workflow.is_main_process
        ),
    output:
        measured=f"results/profile/{{model}}/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/profile/{{model}}/{{dataset}}.log",
    conda:
        "../../envs/stp.yaml"
    threads: PROFILE_THREADS
    resources:
        **asks_profile(),
    params:
        config=CONFIG_FOLDER / "paper.yaml",
        seconds=5,
    shell:
        "stp profile {wildcards.model:q} {wildcards.dataset:q} --configfile {params.config:q}"
        " --threads {threads:q} --seconds {params.seconds:q} --out {output.measured:q} --log {log:q}"


rule render_model_speed:
    input:
        SPEEDS_INPUT,
        measured=[
            f"results/profile/{model}/{DATASET_OF_TABLE}.json" for model in NETWORKS
        ],
    output:
        **in_all_formats("model_speed", NO_DATA),
        table=table_in_report("model_speed", whose=NO_DATA, file="csv"),
    log:
        f"{RESULTS}/logs/render/model_speed.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        config=CONFIG_FOLDER / "paper.yaml",
        measured=lambda wildcards, input: Path(input.measured[0]).parents[1],
    shell:
        "stp list models --configfile {params.config:q} --table {output.table:q}"
        " --measurements {params.measured:q} --log {log:q}"
