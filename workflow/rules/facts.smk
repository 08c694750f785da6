# configuration and prepared data -> tables of papers that have no scores, beside ours

S2S_FACTS = {
    "s2s_benchmarks": "s2s_facts",
    "s2s_land_variables": "s2s_facts",
    "s2s_ocean_variables": "s2s_facts",
    "s2s_networks": "s2s_networks",
}
TABLES += [
    f"{RESULTS}/tables/{name}.csv"
    for name in (
        "dataset_statistics",
        "training_protocol",
        "pvqa_opinions",
        *S2S_FACTS,
    )
    if name in FURTHER_TABLES
]

INPUT_OF = {
    name: workflow_files.write_table_input(
        name, [module], PLAN, workflow.is_main_process
    )
    for name, module in (
        ("dataset_statistics", "stp.inspect.statistics"),
        ("training_protocol", "stp.render.tables.training_protocol"),
        ("pvqa_opinions", "stp.inspect.opinion_table"),
        *((name, f"stp.render.tables.{of}") for name, of in S2S_FACTS.items()),
    )
}


localrules:
    render_dataset_statistics,
    render_training_protocol,
    render_pvqa_opinions,


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
        "stp list datasets --configfile {params.config:q} --table {output.table:q} --log {log:q}"


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
        "stp list models --configfile {params.config:q} --protocol {output.table:q} --log {log:q}"


rule render_pvqa_opinions:
    input:
        INPUT_OF["pvqa_opinions"],
        receipts=ancient([f"{STORE}/{data.receipt}" for data in PLAN.prepared]),
    output:
        **in_all_formats("pvqa_opinions"),
        table=table_in_report("pvqa_opinions", file="csv"),
    log:
        f"{RESULTS}/logs/render/pvqa_opinions.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        config=CONFIG,
    shell:
        "stp list datasets --configfile {params.config:q} --table {output.table:q} --log {log:q}"


for name in S2S_FACTS:

    rule:
        name:
            f"render_{name}"
        input:
            INPUT_OF[name],
            suite=[
                str(CONFIG_FOLDER / "suites" / f"{one}.yaml")
                for one in suites_with(name)
            ],
        output:
            **in_all_formats(name, NO_DATA, "s2s_facts"),
            table=table_in_report(name, "s2s_facts", NO_DATA, "csv"),
        log:
            f"{RESULTS}/logs/render/{name}.log",
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=1000,
            runtime=60,
        params:
            config=CONFIG,
        shell:
            "stp list datasets --configfile {params.config:q} --table {output.table:q} --log {log:q}"
