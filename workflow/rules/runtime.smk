# results.duckdb -> how long predictors of people take, by the number of people


localrules:
    render_runtime,


if PLAN.config.scale.suite == "atlas":
    TABLES.append("results/tables/atlas_runtime.csv")


rule render_runtime:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"results/collected/{dimension}.parquet" for dimension in MANIFESTS],
    output:
        **in_all_formats("atlas_runtime"),
        table=table_in_report("atlas_runtime", file="csv"),
    log:
        "results/logs/render/atlas_runtime.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        database="results/results.duckdb",
    shell:
        "stp runtime --database {params.database} --out {output.table} --log {log}"
