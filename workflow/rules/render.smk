# results.duckdb -> tables; the collected rows say that the database has what the table needs


def files_of(dimension):
    """The files of a dimension's table; where its scores are read by lead time, one more."""
    by_lead = PLAN.config.suite.dimensions[dimension].by_lead
    return {
        "table": table_in_report("{dimension}", "dimension", whose_bytes, "csv"),
        "tidy": f"{RESULTS}/tables/{{dimension}}_tidy.csv",
        **({"leads": f"{RESULTS}/tables/{{dimension}}_leads.csv"} if by_lead else {}),
        "markdown": f"{RESULTS}/tables/{{dimension}}.md",
        "latex": f"{RESULTS}/tables/{{dimension}}.tex",
        "html": table_in_report("{dimension}", "dimension", whose_bytes),
    }


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


def made_table(wildcards):
    """The table that a run of the scale makes; one of a dimension that it has."""
    if any(wildcards.table in suite.dimensions for suite in read_suites().values()):
        manifest_of(SimpleNamespace(dimension=wildcards.table))
    return f"{RESULTS}/tables/{wildcards.table}.csv"


# The table that somebody asks for, of the scale of this run, with its files of other formats.
# LAST_RUN names that scale, so that a table of another one is never taken for it.
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
    shell:
        "(rm -f {params.asked:q}.* && cp {params.made:q}.* {params.into:q}/) 2> {log:q}"
