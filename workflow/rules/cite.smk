# results.duckdb -> what to cite: the works behind all results; on demand


localrules:
    cite,


rule cite:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        references=str(CONFIG_FOLDER / "references.yaml"),
        code=CODE_OF["citations"],
    output:
        bibtex=f"{RESULTS}/CITATION.bib",
        markdown=in_report(
            f"{RESULTS}/CITATION.md",
            "citation",
            "Citations",
            page="what to cite",
            bytes=WHOSE_BYTES["all"],
        ),
    log:
        f"{RESULTS}/logs/render/citation.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        database=DATABASE,
    shell:
        "stp list works --database {params.database:q} --out {output.bibtex:q} --out {output.markdown:q}"
        " --log {log:q}"
