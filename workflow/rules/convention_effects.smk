# results.duckdb -> how much of the rankings is convention: whatever dimensions the scale has


localrules:
    render_convention_effects,


TABLES.append(f"{RESULTS}/tables/convention_effects.csv")


rule render_convention_effects:
    input:
        # Their text changes only together with the rows.
        ancient(list(MANIFESTS.values())),
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        code=CODE_OF["convention_effects"],
    output:
        **in_all_formats("convention_effects"),
        table=table_in_report("convention_effects", file="csv"),
    log:
        f"{RESULTS}/logs/render/convention_effects.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        database=DATABASE,
    shell:
        "stp table convention_effects --database {params.database:q} --out {output.table:q} --log {log:q}"
