# scores of all cells -> one Parquet file per dimension, and results.duckdb
#
# The manifest names every receipt that is needed. Rows whose note has another digest than that of its
# text are collected again (stp/run/input_digest.py); receipts are immutable, hence ancient.
#
# The database of a scale holds all dimensions that have been collected, so no table waits for
# another: each collection, once its own rows are there, builds it anew from the rows of all.
# results/results.duckdb holds those of all scales.
for dimension in RUN.dimensions:
    rows = f"{RESULTS}/collected/{dimension}.parquet"

    rule:
        name:
            f"collect_{dimension}"
        input:
            ancient(JOBS.scores_of(dimension)),
            RUN.outdated_marker(rows, RUN.digest_of_rows(dimension)),
            manifest=ancient(RUN.manifests[dimension]),
        output:
            rows=rows,
        log:
            f"{RESULTS}/logs/collect/{dimension}.log",
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            database=RUN.database,
            digest=RUN.digest_of_rows(dimension),
            note=note_of(rows),
        shell:
            "stp collect {input.manifest:q} --out {output.rows:q} --database {params.database:q} --log {log:q}"
            " && python -m stp.run.input_digest note {params.digest:q} {params.note:q} {output.rows:q}"


# Only on demand, where somebody deleted it.
rule database:
    output:
        database=RUN.database,
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
