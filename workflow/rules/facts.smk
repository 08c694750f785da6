# configuration, networks and prepared data -> tables of facts that papers print, beside ours
from stp.inspect.facts import table as facts

for name, source in facts.tables_of(PLAN.config.suite).items():

    TABLES += [f"{RESULTS}/tables/{name}.csv"]

    rule:
        name:
            f"render_{name}"
        input:
            workflow_files.write_table_input(
                name, facts.modules(PLAN, name), PLAN, workflow.is_main_process
            ),
            suite=FILE_OF_SUITE,
            receipts=ancient(
                [
                    f"{STORE}/{data.receipt}"
                    for data in PLAN.prepared
                    if source.prepared
                ]
            ),
        output:
            **in_all_formats(
                name, WHOSE_BYTES["all"] if source.prepared else NO_DATA, "facts"
            ),
            table=table_in_report(
                name,
                "facts",
                WHOSE_BYTES["all"] if source.prepared else NO_DATA,
                "csv",
            ),
        log:
            f"{RESULTS}/logs/render/{name}.log",
        localrule: not source.networks
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=4000 if source.networks else 2000,
            runtime=60,
        params:
            config=CONFIG,
            suite=PLAN.config.scale.suite,
            about=PLAN.config.suite.tables[name].about,
            whose=WHOSE_BYTES["all"] if source.prepared else NO_DATA,
        shell:
            "stp check {params.suite:q} --configfile {params.config:q} --table {output.table:q} --log {log:q}"
