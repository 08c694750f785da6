# prepared data -> model.pt and history.parquet
TRAINED = f"{STORE}/models/{{dataset}}/{{model}}/{{variant}}/{{seed}}/{{fingerprint}}/artefact.json"


rule train:
    input:
        ancient(needed_by(TRAINED)),
    output:
        receipt=TRAINED,
    log:
        f"{RESULTS}/logs/train/{{dataset}}/{{model}}/{{variant}}/{{seed}}/{{fingerprint}}.log",
    conda:
        "../../envs/stp.yaml"
    threads: threads_of(TRAINED)
    resources:
        **asks(TRAINED),
    params:
        config=CONFIG,
    shell:
        "stp train {output.receipt:q} --configfile {params.config:q} --log {log:q}"
