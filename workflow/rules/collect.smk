# scores of all cells -> one Parquet file per dimension -> results.duckdb
#
# The manifest names every receipt that is needed. Its text, and so its time, changes exactly
# when a table has to be made again; the receipts themselves are immutable, hence ancient.


rule collect_short_term:
    input:
        ancient(PLAN.receipts("short_term")),
        manifest=MANIFESTS["short_term"],
    output:
        rows="results/collected/short_term.parquet",
    log:
        "results/logs/collect/short_term.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    shell:
        "stp collect {input.manifest} --out {output.rows} --log {log}"


rule database:
    input:
        rows=[f"results/collected/{dimension}.parquet" for dimension in MANIFESTS],
        manifests=list(MANIFESTS.values()),
    output:
        database="results/results.duckdb",
    log:
        "results/logs/collect/database.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    shell:
        "stp collect {input.manifests} --database {output.database} --log {log}"
