# results.duckdb -> the paper's findings, judged: whatever dimensions the scale has


localrules:
    render_findings,


if PLAN.config.suite.findings:
    TABLES.append(f"{RESULTS}/tables/findings.csv")


# The queries of the suite; one that has none has no such table.
FINDINGS = (
    sorted(map(str, (CONFIG_FOLDER / PLAN.config.suite.findings).glob("*.sql")))
    if PLAN.config.suite.findings
    else []
)


rule render_findings:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        FINDINGS,
        code=CODE_OF["findings"],
    output:
        table=table_in_report("findings", file="csv"),
        markdown=f"{RESULTS}/tables/findings.md",
        latex=f"{RESULTS}/tables/findings.tex",
        html=table_in_report("findings"),
    log:
        f"{RESULTS}/logs/render/findings.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        database=DATABASE,
    shell:
        "stp findings --database {params.database:q} --out {output.table:q} --log {log:q}"
