# rows of repeated runs -> the paper's reliability study: only on demand, at any scale with seeds
from types import SimpleNamespace

from stp.render.groups import demand_runs


localrules:
    render_reliability,


def repeated_runs(wildcards):
    """The manifest of the short-term table, if its models are trained with enough seeds."""
    manifest = manifest_of(SimpleNamespace(dimension="short_term"))
    models = PLAN.config.scale.dimensions["short_term"].models
    trained = [name for name in models if PLAN.config.models[name].fit == "sgd"]
    seeds = len(PLAN.config.scale.seeds)
    demand_runs(
        [(name, seeds) for name in trained], f"the scale {PLAN.config.scale.scale}"
    )
    return manifest


rule render_reliability:
    input:
        # Its text changes only together with the rows.
        manifest=ancient(repeated_runs),
        rows="results/collected/short_term.parquet",
    output:
        table="results/tables/reliability.csv",
        markdown="results/tables/reliability.md",
        png="results/tables/reliability.png",
        svg="results/tables/reliability.svg",
    log:
        "results/logs/render/reliability.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp render {input.manifest} --reliability --out {output.table} --log {log}"
