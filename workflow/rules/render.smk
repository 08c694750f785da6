# results.duckdb -> tables; the collected rows say that the database has what the table needs

for dimension in PLAN.config.scale.dimensions:

    rule:
        name:
            f"render_{dimension}"
        input:
            manifest=manifest_of,
            rows=f"{RESULTS}/collected/{{dimension}}.parquet",
            code=CODE_OF["dimension"],
        output:
            **files_of(dimension),
        log:
            f"{RESULTS}/logs/render/{{dimension}}.log",
        wildcard_constraints:
            dimension=dimension,
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=2000,
            runtime=60,
        shell:
            "stp render {input.manifest:q} --out {output.table:q} --log {log:q}"


# The table that somebody asks for, of the scale of this run, with all of its files; those of an
# older run go. LAST_RUN names that scale, so that a table of another one is never taken for it.
rule table:
    input:
        made_table,
        LAST_RUN,
    output:
        "results/tables/{table}.csv",
    log:
        f"{RESULTS}/logs/render/{{table}}-copied.log",
    wildcard_constraints:
        table="[^/.]+",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    params:
        made=lambda wildcards: f"{RESULTS}/tables/{wildcards.table}",
        asked=lambda wildcards: f"results/tables/{wildcards.table}",
        into=lambda wildcards, output: str(Path(output[0]).parent),
        ends=workflow_files.BESIDE,
    shell:
        "(for end in '' {params.ends:q}; do rm -f {params.asked:q}$end.*;"
        " for file in {params.made:q}$end.*; do"
        ' if [ -e "$file" ]; then cp "$file" {params.into:q}/; fi; done; done) 2> {log:q}'
