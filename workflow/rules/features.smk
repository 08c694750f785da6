# clips, weights of a network -> features.parquet: what the network sees. Of what was observed once for
# all cells; of predictions of each cell, one rule for each dimension of the evaluation.
OBSERVED = f"{STORE}/features/data/{{tested_on}}/{{subset}}/{{setting}}/{{frames}}/{{layer}}/{{fingerprint}}/artefact.json"
SEEN = f"{STORE}/features/predictions/{_CELL}/{{frames}}/{{layer}}/{{fingerprint}}/artefact.json"


rule features:
    input:
        ancient(needed_by(OBSERVED)),
    output:
        receipt=OBSERVED,
    log:
        f"{RESULTS}/logs/features/data/{{tested_on}}/{{subset}}/{{setting}}/{{frames}}/{{layer}}/{{fingerprint}}.log",
    conda:
        "../../envs/stp.yaml"
    threads: threads_of(OBSERVED)
    resources:
        **asks(OBSERVED),
    params:
        config=CONFIG,
    shell:
        "stp features {output.receipt:q} --configfile {params.config:q} --log {log:q}"


for dimension in PLAN.config.scale.dimensions:

    rule:
        name:
            f"features_{dimension}"
        input:
            ancient(needed_by(SEEN)),
        output:
            receipt=SEEN,
        log:
            f"{RESULTS}/logs/features/predictions/{_CELL}/{{frames}}/{{layer}}/{{fingerprint}}.log",
        wildcard_constraints:
            dimension=dimension,
        group:
            group_of(SEEN)
        conda:
            "../../envs/stp.yaml"
        threads: threads_of(SEEN)
        resources:
            **asks(SEEN),
        params:
            config=CONFIG,
        shell:
            "stp features {output.receipt:q} --configfile {params.config:q} --log {log:q}"
