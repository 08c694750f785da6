# configuration and prepared data -> Table 1 and appendix D of the paper, beside ours

TABLES += [
    f"{RESULTS}/tables/{name}.csv"
    for name in ("dataset_statistics", "training_protocol")
    if name in FURTHER_TABLES
]

INPUT_OF = {
    name: workflow_files.write_table_input(
        name, [module], PLAN, workflow.is_main_process
    )
    for name, module in (
        ("dataset_statistics", "stp.inspect.statistics"),
        ("training_protocol", "stp.render.tables.training_protocol"),
    )
}


localrules:
    render_dataset_statistics,
    render_training_protocol,


rule render_dataset_statistics:
    input:
        INPUT_OF["dataset_statistics"],
        receipts=ancient([f"{STORE}/{data.receipt}" for data in PLAN.prepared]),
    output:
        **in_all_formats("dataset_statistics"),
        table=table_in_report("dataset_statistics", file="csv"),
    log:
        f"{RESULTS}/logs/render/dataset_statistics.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        config=CONFIG,
    shell:
        "stp data --configfile {params.config:q} --table {output.table:q} --log {log:q}"


rule render_training_protocol:
    input:
        INPUT_OF["training_protocol"],
    output:
        **in_all_formats("training_protocol", NO_DATA),
        table=table_in_report("training_protocol", whose=NO_DATA, file="csv"),
    log:
        f"{RESULTS}/logs/render/training_protocol.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        config=CONFIG,
    shell:
        "stp models --configfile {params.config:q} --protocol {output.table:q} --log {log:q}"
