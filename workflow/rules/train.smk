# prepared data -> model.pt and history.parquet
TRAINED = JOBS.receipt("train")


rule train:
    input:
        ancient(JOBS.inputs_of(TRAINED)),
    output:
        receipt=TRAINED,
    log:
        JOBS.log(RESULTS, "train"),
    conda:
        "../../envs/stp.yaml"
    threads: JOBS.threads_of(TRAINED)
    resources:
        **JOBS.asks(TRAINED),
    shell:
        "stp train {output.receipt:q} --log {log:q}"
