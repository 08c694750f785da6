# results.duckdb -> the paper's findings, judged: whatever dimensions the scale has


localrules:
    render_findings,


# The queries of the suite, and the table of their name; one that has none has no such table.
FINDINGS = PLAN.config.suite.findings or "findings"
QUERIES = [str(path) for path in PLAN.config.suite.queries]
if PLAN.config.suite.findings:
    TABLES.append(f"{RESULTS}/tables/{FINDINGS}.csv")


rule render_findings:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        QUERIES,
        ANSWERS_OF_PEOPLE,
        code=CODE_OF["findings"],
    output:
        table=table_in_report(FINDINGS, "findings", file="csv"),
        markdown=f"{RESULTS}/tables/{FINDINGS}.md",
        latex=f"{RESULTS}/tables/{FINDINGS}.tex",
        html=table_in_report(FINDINGS, "findings"),
    log:
        f"{RESULTS}/logs/render/findings.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        database=DATABASE,
        of=FINDINGS,
    shell:
        "stp table {params.of:q} --database {params.database:q} --out {output.table:q} --log {log:q}"
