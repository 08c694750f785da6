# results.duckdb -> tables; the collected rows say that the database has what the table needs


rule render_short_term:
    input:
        manifest=manifest_of,
        rows="results/collected/{dimension}.parquet",
    output:
        table=table_in_report("{dimension}", "dimension", whose_bytes, "csv"),
        tidy="results/tables/{dimension}_tidy.csv",
        markdown="results/tables/{dimension}.md",
        latex="results/tables/{dimension}.tex",
        html=table_in_report("{dimension}", "dimension", whose_bytes),
    log:
        "results/logs/render/{dimension}.log",
    wildcard_constraints:
        dimension="short_term",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp render {input.manifest} --out {output.table} --log {log}"


use rule render_short_term as render_long_term with:
    output:
        table=table_in_report("{dimension}", "dimension", whose_bytes, "csv"),
        tidy="results/tables/{dimension}_tidy.csv",
        leads="results/tables/{dimension}_leads.csv",
        markdown="results/tables/{dimension}.md",
        latex="results/tables/{dimension}.tex",
        html=table_in_report("{dimension}", "dimension", whose_bytes),
    wildcard_constraints:
        dimension="long_term",


use rule render_short_term as render_generalization with:
    wildcard_constraints:
        dimension="generalization",


use rule render_short_term as render_robustness with:
    wildcard_constraints:
        dimension="robustness",


use rule render_short_term as render_atlas with:
    wildcard_constraints:
        dimension="atlas_(?!runtime)[a-z]+",  # that one is no dimension
