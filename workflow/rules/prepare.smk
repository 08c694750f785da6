# raw bytes -> frames.zarr and index.parquet
PREPARED = f"{STORE}/data/{{dataset}}/{{fingerprint}}/artefact.json"


rule prepare:
    input:
        ancient(needed_by(PREPARED)),
    output:
        receipt=PREPARED,
    log:
        f"{RESULTS}/logs/prepare/{{dataset}}/{{fingerprint}}.log",
    conda:
        "../../envs/stp.yaml"
    threads: threads_of(PREPARED)
    resources:
        **asks(PREPARED),
    params:
        config=CONFIG,
    shell:
        "stp prepare {output.receipt:q} --configfile {params.config:q} --log {log:q}"


rule data:
    # all prepared data of the scale, and a table of what they hold
    input:
        list=DATA,
        receipts=ancient([f"{STORE}/{data.receipt}" for data in PLAN.prepared]),
    output:
        f"{RESULTS}/data/all",
    log:
        f"{RESULTS}/logs/data.log",
    conda:
        "../../envs/stp.yaml"
    params:
        config=CONFIG,
    shell:
        "stp list datasets --prepared --configfile {params.config:q} --out {output:q} 2> {log:q}"
