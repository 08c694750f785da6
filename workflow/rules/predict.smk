# trained model, prepared data -> predictions.zarr; one rule for each dimension of the evaluation
PREDICTED = JOBS.receipt("predict")


for dimension in RUN.dimensions:

    rule:
        name:
            f"predict_{dimension}"
        input:
            ancient(JOBS.inputs_of(PREDICTED)),
        output:
            receipt=PREDICTED,
        log:
            JOBS.log(RESULTS, "predict"),
        wildcard_constraints:
            dimension=dimension,
        group:
            JOBS.group_of(PREDICTED)
        conda:
            "../../envs/stp.yaml"
        threads: JOBS.threads_of(PREDICTED)
        resources:
            **JOBS.asks(PREDICTED),
        shell:
            "stp predict {output.receipt:q} --log {log:q}"
