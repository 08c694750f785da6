# predictions, prepared data -> scores.parquet; CPU metrics, so never on a GPU node. Where predictions
# are not stored (`keep` in the scale file): trained model, prepared data -> scores.parquet and a few
# predictions, on a GPU node if the model is a network.
SCORED = f"{STORE}/scores/{{dimension}}/{CELL}/artefact.json"


rule score_short_term:
    input:
        ancient(needed_by(SCORED)),
    output:
        receipt=SCORED,
    log:
        f"results/logs/score/{{dimension}}/{CELL}.log",
    wildcard_constraints:
        dimension="short_term",
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
        "stp score {output.receipt} --configfile {params.config} --log {log}"


use rule score_short_term as score_long_term with:
    wildcard_constraints:
        dimension="long_term",


use rule score_short_term as score_generalization with:
    wildcard_constraints:
        dimension="generalization",


use rule score_short_term as score_robustness with:
    wildcard_constraints:
        dimension="robustness",


use rule score_short_term as score_atlas with:
    wildcard_constraints:
        dimension="atlas_[a-z]+",


# Scores that compare what networks see: a job of its own, with a GPU. Only cells with such a metric
# have one (perceptual and available in config/conventions).
PERCEIVED = f"{STORE}/scores/{{dimension}}/{PERCEPTUAL_CELL}/artefact.json"


use rule score_short_term as score_perceptual_short_term with:
    input:
        ancient(needed_by(PERCEIVED)),
    output:
        receipt=PERCEIVED,
    log:
        f"results/logs/score/{{dimension}}/{PERCEPTUAL_CELL}.log",
    group:
        group_of(PERCEIVED)
    threads: threads_of(PERCEIVED)
    resources:
        **asks(PERCEIVED),


use rule score_perceptual_short_term as score_perceptual_long_term with:
    wildcard_constraints:
        dimension="long_term",


use rule score_perceptual_short_term as score_perceptual_generalization with:
    wildcard_constraints:
        dimension="generalization",


use rule score_perceptual_short_term as score_perceptual_robustness with:
    wildcard_constraints:
        dimension="robustness",
