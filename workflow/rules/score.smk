# predictions, prepared data -> scores.parquet; CPU metrics, so never on a GPU node. Where predictions
# are not stored (`keep` in the scale file): trained model, prepared data -> scores.parquet and a few
# predictions, on a GPU node if the model is a network.
#
# Scores that compare what networks see are a job of its own, with a GPU where it looks itself. Only
# cells with such a metric have one (perceptual and available in config/conventions).
for dimension in RUN.dimensions:
    for stage in ("score", "score_perceptual"):

        rule:
            name:
                f"{stage}_{dimension}"
            input:
                ancient(JOBS.inputs_of(JOBS.receipt(stage))),
            output:
                receipt=JOBS.receipt(stage),
            log:
                JOBS.log(RESULTS, stage),
            wildcard_constraints:
                dimension=dimension,
            group:
                JOBS.group_of(JOBS.receipt(stage))
            conda:
                "../../envs/stp.yaml"
            threads: JOBS.threads_of(JOBS.receipt(stage))
            resources:
                **JOBS.asks(JOBS.receipt(stage)),
            shell:
                "stp score {output.receipt:q} --log {log:q}"
