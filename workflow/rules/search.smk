# prepared data -> best parameters of a search (docs/search.md); only on demand, and nothing reads them
SEARCHED = f"results/search/{{scale}}/{{model}}/{{dataset}}"


rule search:
    input:
        # Data are immutable; the text of the study, and so its time, changes with the recipe,
        # the space and the number of trials.
        ancient(lambda wildcards: PLAN.inputs(searched(wildcards)[0])),
        study=lambda wildcards: search_targets.write_identity(
            PLAN, *searched(wildcards)
        ),
    output:
        best=f"{SEARCHED}.yaml",
        trials=f"{SEARCHED}_trials.csv",
        history=f"{SEARCHED}_history.png",
    log:
        f"{RESULTS}/logs/search/{{scale}}/{{model}}/{{dataset}}.log",
    wildcard_constraints:
        scale="[^/]+",
    conda:
        "../../envs/stp.yaml"
    threads: lambda wildcards: search_targets.asks(RESOURCES, *searched(wildcards))["threads"]
    resources:
        **asks_search(),
    params:
        config=CONFIG,
    shell:
        "stp search {wildcards.model:q} {wildcards.dataset:q} --out {output.best:q}"
        " --configfile {params.config:q} --log {log:q}"
