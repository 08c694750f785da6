# scores of all cells -> one Parquet file per dimension, and results.duckdb
#
# The manifest names every receipt that is needed. Its text, and so its time, changes exactly
# when a table has to be made again; the receipts themselves are immutable, hence ancient.
#
# results.duckdb holds all dimensions that have been collected, so no table waits for another: each
# collection, once its own rows are there, builds the database anew from the rows of all.


rule collect_short_term:
    input:
        ancient(lambda wildcards: PLAN.receipts(wildcards.dimension)),
        manifest=manifest_of,
    output:
        rows="results/collected/{dimension}.parquet",
    log:
        "results/logs/collect/{dimension}.log",
    wildcard_constraints:
        dimension="short_term",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        database="results/results.duckdb",
    shell:
        "stp collect {input.manifest} --out {output.rows} --database {params.database} --log {log}"


use rule collect_short_term as collect_long_term with:
    wildcard_constraints:
        dimension="long_term",


use rule collect_short_term as collect_generalization with:
    wildcard_constraints:
        dimension="generalization",


use rule collect_short_term as collect_robustness with:
    wildcard_constraints:
        dimension="robustness",


use rule collect_short_term as collect_atlas with:
    wildcard_constraints:
        dimension="atlas_[a-z]+",


# Only on demand, where somebody deleted it.
rule database:
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
        "stp collect --database {output.database} --log {log}"
