# results.duckdb -> views that are tables of the suite: whatever dimensions the scale has
from stp.plan.strict import SUITE_FILE

VIEWS = PLAN.config.suite.view_tables
FILE_OF_SUITE = str(PLAN.config.suite.folder / SUITE_FILE)
TABLES += [f"{RESULTS}/tables/{name}.csv" for name in VIEWS]

for name in VIEWS:

    rule:
        name:
            f"render_{name}"
        input:
            # Their text, which has the query of the view, changes only together with the rows.
            ancient(list(MANIFESTS.values())),
            [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
            suite=FILE_OF_SUITE,
            code=CODE_OF["view"],
        output:
            **in_all_formats(name, caption="view"),
            table=table_in_report(name, "view", file="csv"),
        log:
            f"{RESULTS}/logs/render/{name}.log",
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            database=DATABASE,
            of=name,
        shell:
            "stp table {params.of:q} --database {params.database:q} --out {output.table:q} --log {log:q}"
