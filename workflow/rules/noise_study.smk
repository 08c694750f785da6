# scores and features of distorted clips -> how metrics follow the intensity


localrules:
    render_noise_study,


if "noise_study" in FURTHER_TABLES:
    TABLES.append(f"{RESULTS}/tables/noise_study.csv")


rule render_noise_study:
    input:
        # Its text changes only together with the rows.
        manifest=ancient(lambda _: manifest_behind("noise_study")(None)),
        rows=f"{RESULTS}/collected/{is_made_from('noise_study')}.parquet",
        code=CODE_OF["noise_study"],
    output:
        **in_all_formats("noise_study"),
        table=table_in_report("noise_study", file="csv"),
        png=table_in_report("noise_study", file="png"),
        svg=f"{RESULTS}/tables/noise_study.svg",
    log:
        f"{RESULTS}/logs/render/noise_study.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp render {input.manifest:q} --noise-study --out {output.table:q} --log {log:q}"
