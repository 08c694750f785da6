# predictions, prepared data -> scores.parquet; CPU metrics, so never on a GPU node
SCORED = f"{STORE}/scores/short_term/{CELL}/artefact.json"


rule score_short_term:
    input:
        ancient(needed_by(SCORED)),
    output:
        receipt=SCORED,
    log:
        f"results/logs/score/short_term/{CELL}.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=720,
    params:
        config=CONFIG,
    shell:
        "stp score {output.receipt} --configfile {params.config} --log {log}"
