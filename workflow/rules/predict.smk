# trained model, prepared data -> predictions.zarr; one rule for each dimension of the evaluation
PREDICTED = f"{STORE}/predictions/{CELL}/artefact.json"


for dimension in PLAN.config.scale.dimensions:

    rule:
        name:
            f"predict_{dimension}"
        input:
            ancient(needed_by(PREDICTED)),
        output:
            receipt=PREDICTED,
        log:
            f"{RESULTS}/logs/predict/{CELL}.log",
        wildcard_constraints:
            dimension=dimension,
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
            "stp predict {output.receipt:q} --configfile {params.config:q} --log {log:q}"
