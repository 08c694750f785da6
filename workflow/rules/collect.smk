# scores of all cells -> one Parquet file per dimension, and results.duckdb
#
# The manifest names every receipt that is needed. Its text, and so its time, changes exactly
# when a table has to be made again; the receipts themselves are immutable, hence ancient.
#
# The database of a scale holds all dimensions that have been collected, so no table waits for
# another: each collection, once its own rows are there, builds it anew from the rows of all.
# results/results.duckdb holds those of all scales.
DATABASE = f"{RESULTS}/results.duckdb"


for dimension in PLAN.config.scale.dimensions:

    rule:
        name:
            f"collect_{dimension}"
        input:
            ancient(lambda wildcards: PLAN.receipts(wildcards.dimension)),
            manifest=manifest_of,
        output:
            rows=f"{RESULTS}/collected/{{dimension}}.parquet",
        log:
            f"{RESULTS}/logs/collect/{{dimension}}.log",
        wildcard_constraints:
            dimension=dimension,
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            database=DATABASE,
        shell:
            "stp collect {input.manifest:q} --out {output.rows:q} --database {params.database:q} --log {log:q}"


# Only on demand, where somebody deleted it.
rule database:
    output:
        database=DATABASE,
        combined="results/results.duckdb",
    log:
        f"{RESULTS}/logs/collect/database.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    shell:
        "stp collect --database {output.database:q} --log {log:q}"
