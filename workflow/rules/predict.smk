# trained model, prepared data -> predictions.zarr; one rule per evaluation dimension
PREDICTED = f"{STORE}/predictions/short_term/{CELL}/artefact.json"


rule predict_short_term:
    input:
        ancient(needed_by(PREDICTED)),
    output:
        receipt=PREDICTED,
    log:
        f"results/logs/predict/short_term/{CELL}.log",
    group:
        group_of(PREDICTED)
    conda:
        "../../envs/stp.yaml"
    threads: threads_of(PREDICTED)
    resources:
        **asks(PREDICTED),
    params:
        config=CONFIG,
    shell:
        "stp predict {output.receipt} --configfile {params.config} --log {log}"
