# trained model, prepared data -> predictions.zarr; one rule per evaluation dimension
PREDICTED = f"{STORE}/predictions/short_term/{CELL}/artefact.json"


rule predict_short_term:
    input:
        ancient(needed_by(PREDICTED)),
    output:
        receipt=PREDICTED,
    log:
        f"results/logs/predict/short_term/{CELL}.log",
    conda:
        "../../envs/stp.yaml"
    threads: lambda wildcards: PLAN.threads(PREDICTED.format(**wildcards))
    resources:
        mem_mb=16000,
        runtime=720,
        gpu=lambda wildcards: PLAN.gpus(PREDICTED.format(**wildcards)),
    params:
        config=CONFIG,
    shell:
        "stp predict {output.receipt} --configfile {params.config} --log {log}"
