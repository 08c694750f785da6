# results.duckdb -> how long predictors of people take, by the number of people


localrules:
    render_runtime,


if "runtime" in FURTHER_TABLES:
    TABLES.append(f"{RESULTS}/tables/runtime.csv")


rule render_runtime:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        code=CODE_OF["runtime"],
    output:
        **in_all_formats("runtime"),
        table=table_in_report("runtime", file="csv"),
    log:
        f"{RESULTS}/logs/render/runtime.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        database=DATABASE,
    shell:
        "stp table runtime --database {params.database:q} --out {output.table:q} --log {log:q}"
