# rows of repeated runs -> the paper's reliability study, at any scale with enough seeds

if can_repeat():
    TABLES += [f"{RESULTS}/tables/reliability.csv"]


localrules:
    render_reliability,


rule render_reliability:
    input:
        # Its text changes only together with the rows.
        manifest=ancient(repeated_runs),
        rows=f"{RESULTS}/collected/{is_made_from('reliability')}.parquet",
        code=CODE_OF["reliability"],
    output:
        **in_all_formats("reliability"),
        table=table_in_report("reliability", file="csv"),
        png=table_in_report("reliability", file="png"),
        svg=f"{RESULTS}/tables/reliability.svg",
    log:
        f"{RESULTS}/logs/render/reliability.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp render {input.manifest:q} --reliability --out {output.table:q} --log {log:q}"
