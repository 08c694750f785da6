# clips, weights of a network -> features.parquet: what the network sees. Of what was observed once for
# all cells; of predictions of each cell, one rule for each dimension of the evaluation.
OBSERVED = JOBS.receipt("features of data")
SEEN = JOBS.receipt("features of predictions")


rule features:
    input:
        ancient(JOBS.inputs_of(OBSERVED)),
    output:
        receipt=OBSERVED,
    log:
        JOBS.log(RESULTS, "features of data"),
    conda:
        "../../envs/stp.yaml"
    threads: JOBS.threads_of(OBSERVED)
    resources:
        **JOBS.asks(OBSERVED),
    shell:
        "stp features {output.receipt:q} --log {log:q}"


for dimension in RUN.dimensions:

    rule:
        name:
            f"features_{dimension}"
        input:
            ancient(JOBS.inputs_of(SEEN)),
        output:
            receipt=SEEN,
        log:
            JOBS.log(RESULTS, "features of predictions"),
        wildcard_constraints:
            dimension=dimension,
        group:
            JOBS.group_of(SEEN)
        conda:
            "../../envs/stp.yaml"
        threads: JOBS.threads_of(SEEN)
        resources:
            **JOBS.asks(SEEN),
        shell:
            "stp features {output.receipt:q} --log {log:q}"
