# predictions, prepared data -> scores.parquet; CPU metrics, so never on a GPU node
SCORED = f"{STORE}/scores/short_term/{CELL}/artefact.json"


rule score_short_term:
    input:
        ancient(needed_by(SCORED)),
    output:
        receipt=SCORED,
    log:
        f"results/logs/score/short_term/{CELL}.log",
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
