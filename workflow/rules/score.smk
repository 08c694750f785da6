# predictions, prepared data -> scores.parquet; CPU metrics, so never on a GPU node. Where predictions
# are not stored (`keep` in the scale file): trained model, prepared data -> scores.parquet and a few
# predictions, on a GPU node if the model is a network.
SCORED = f"{STORE}/scores/{CELL}/artefact.json"
# Scores that compare what networks see: a job of its own, with a GPU where it looks itself. Only cells with such a metric
# have one (perceptual and available in config/conventions).
PERCEIVED = f"{STORE}/scores/{PERCEPTUAL_CELL}/artefact.json"


for dimension in PLAN.config.scale.dimensions:

    rule:
        name:
            f"score_{dimension}"
        input:
            ancient(needed_by(SCORED)),
        output:
            receipt=SCORED,
        log:
            f"{RESULTS}/logs/score/{CELL}.log",
        wildcard_constraints:
            dimension=dimension,
        group:
            group_of(SCORED)
        conda:
            "../../envs/stp.yaml"
        threads: threads_of(SCORED)
        resources:
            **asks(SCORED),
        params:
            config=CONFIG,
        shell:
            "stp score {output.receipt:q} --configfile {params.config:q} --log {log:q}"

    rule:
        name:
            f"score_perceptual_{dimension}"
        input:
            ancient(needed_by(PERCEIVED)),
        output:
            receipt=PERCEIVED,
        log:
            f"{RESULTS}/logs/score/{PERCEPTUAL_CELL}.log",
        wildcard_constraints:
            dimension=dimension,
        group:
            group_of(PERCEIVED)
        conda:
            "../../envs/stp.yaml"
        threads: threads_of(PERCEIVED)
        resources:
            **asks(PERCEIVED),
        params:
            config=CONFIG,
        shell:
            "stp score {output.receipt:q} --configfile {params.config:q} --log {log:q}"
