# results.duckdb -> the paper's findings, judged: whatever dimensions the scale has


localrules:
    render_findings,


if IS_PREDBENCH:
    TABLES.append("results/tables/findings.csv")


rule render_findings:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"results/collected/{dimension}.parquet" for dimension in MANIFESTS],
        sorted(map(str, Path("config/findings").glob("*.sql"))),
    output:
        table=table_in_report("findings", file="csv"),
        markdown="results/tables/findings.md",
        latex="results/tables/findings.tex",
        html=table_in_report("findings"),
    log:
        "results/logs/render/findings.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        database="results/results.duckdb",
    shell:
        "stp findings --database {params.database} --out {output.table} --log {log}"
