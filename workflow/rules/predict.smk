# trained model, prepared data -> predictions.zarr; one rule per evaluation dimension
PREDICTED = f"{STORE}/predictions/{{dimension}}/{CELL}/artefact.json"


rule predict_short_term:
    input:
        ancient(needed_by(PREDICTED)),
    output:
        receipt=PREDICTED,
    log:
        f"results/logs/predict/{{dimension}}/{CELL}.log",
    wildcard_constraints:
        dimension="short_term",
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


use rule predict_short_term as predict_long_term with:
    wildcard_constraints:
        dimension="long_term",


use rule predict_short_term as predict_generalization with:
    wildcard_constraints:
        dimension="generalization",


use rule predict_short_term as predict_robustness with:
    wildcard_constraints:
        dimension="robustness",


use rule predict_short_term as predict_atlas with:
    wildcard_constraints:
        dimension="atlas_[a-z]+",
