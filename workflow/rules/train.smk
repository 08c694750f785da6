# prepared data -> model.pt and history.parquet
TRAINED = f"{STORE}/models/{{dataset}}/{{model}}/{{variant}}/{{seed}}/{{fingerprint}}/artefact.json"


rule train:
    input:
        ancient(needed_by(TRAINED)),
    output:
        receipt=TRAINED,
    log:
        "results/logs/train/{dataset}/{model}/{variant}/{seed}/{fingerprint}.log",
    conda:
        "../../envs/stp.yaml"
    threads: lambda wildcards: PLAN.threads(TRAINED.format(**wildcards))
    resources:
        mem_mb=16000,
        runtime=2880,
        gpu=lambda wildcards: PLAN.gpus(TRAINED.format(**wildcards)),
    params:
        config=CONFIG,
    shell:
        "stp train {output.receipt} --configfile {params.config} --log {log}"
