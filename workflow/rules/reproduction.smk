# rows of a dimension -> Tables 13-16 of the paper, as far as the scale has their cells

if can_reproduce():
    TABLES += [f"{RESULTS}/tables/reproduction.csv"]


localrules:
    render_reproduction,


rule render_reproduction:
    input:
        # Its text changes only together with the rows.
        manifest=ancient(manifest_behind("reproduction")),
        rows=f"{RESULTS}/collected/{is_made_from('reproduction')}.parquet",
        code=CODE_OF["reproduction"],
    output:
        **in_all_formats("reproduction"),
        table=table_in_report("reproduction", file="csv"),
    log:
        f"{RESULTS}/logs/render/reproduction.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp render {input.manifest:q} --reproduction --out {output.table:q} --log {log:q}"
