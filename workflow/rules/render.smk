# results.duckdb -> tables


rule render_short_term:
    input:
        manifest=MANIFESTS["short_term"],
        database="results/results.duckdb",
    output:
        table="results/tables/short_term.csv",
        markdown="results/tables/short_term.md",
        intervals="results/tables/short_term_intervals.csv",
    log:
        "results/logs/render/short_term.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp render {input.manifest} --out {output.table} --log {log}"
