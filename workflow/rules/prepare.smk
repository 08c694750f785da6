# raw files -> frames.zarr and index.parquet
PREPARED = JOBS.receipt("prepare")


rule prepare:
    input:
        ancient(JOBS.inputs_of(PREPARED)),
    output:
        receipt=PREPARED,
    log:
        JOBS.log(RESULTS, "prepare"),
    conda:
        "../../envs/stp.yaml"
    threads: JOBS.threads_of(PREPARED)
    resources:
        **JOBS.asks(PREPARED),
    shell:
        "stp prepare {output.receipt:q} --log {log:q}"


rule data:
    # all prepared data of the scale, and a table of what they hold
    input:
        ancient(RUN.prepared_receipts),
        RUN.outdated_marker(f"{RESULTS}/data/all", RUN.digest_of_data),
    output:
        f"{RESULTS}/data/all",
    log:
        f"{RESULTS}/logs/data.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    params:
        digest=RUN.digest_of_data,
        note=note_of(f"{RESULTS}/data/all"),
    shell:
        "stp list datasets --prepared --out {output:q} 2> {log:q}"
        " && python -m stp.run.input_digest note {params.digest:q} {params.note:q}"
