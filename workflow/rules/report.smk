# results.duckdb (and predictions, for pictures) -> one page to look at: on demand, or with all
#
# `report.json` holds what the code is that writes it, so that an edit of it makes no table again.


localrules:
    report,


REPORT_INPUT = workflow_files.write_code_input(
    "report", ["stp.report.build"], workflow.is_main_process
)


rule report:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        parts=sorted(map(str, (SOURCE_FOLDER / "stp/report/page").iterdir())),
        code=REPORT_INPUT,
    output:
        page=in_report(
            f"{RESULTS}/report/index.html",
            "report",
            "Report",
            page="the report of stp",
            bytes=WHOSE_BYTES["all"],
        ),
    log:
        f"{RESULTS}/logs/report/report.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        database=DATABASE,
    shell:
        "stp report --database {params.database:q} --out {output.page:q} --log {log:q}"
