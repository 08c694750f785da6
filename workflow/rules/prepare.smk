# raw bytes -> frames.zarr and index.parquet
PREPARED = f"{STORE}/data/{{dataset}}/{{fingerprint}}/artefact.json"


rule prepare:
    input:
        ancient(needed_by(PREPARED)),
    output:
        receipt=PREPARED,
    log:
        "results/logs/prepare/{dataset}/{fingerprint}.log",
    conda:
        "../../envs/stp.yaml"
    threads: threads_of(PREPARED)
    resources:
        **asks(PREPARED),
    params:
        config=CONFIG,
    shell:
        "stp prepare {output.receipt} --configfile {params.config} --log {log}"
