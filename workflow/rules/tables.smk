# rows of dimensions, the results store, configuration -> tables; stp/workflow/tables.py says of each
# what it is made from
for table in RUN.tables.values():

    rule:
        name:
            f"render_{table.name}"
        input:
            ancient(table.ancient),
            table.required_inputs,
            RUN.outdated_marker(table.path, table.lazy_digest),
            configfile=ancient(RUN.configfile),
        output:
            **table_in_report(table),
        log:
            f"{RESULTS}/logs/render/{table.name}.log",
        localrule: table.is_local
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=table.memory_mb,
            runtime=60,
        params:
            digest=table.lazy_digest,
            note=note_of(table.path),
            words=table.arguments,
            configfile=table.configfile_options,
            files=list(table.files.values()),
            afterwards=table.afterwards,
            about=table.about,
            data_origin=table.data_origin,
        shell:
            "stp {params.words:q} {params.configfile:q} --log {log:q}"
            " && python -m stp.run.input_digest note {params.digest:q} {params.note:q} {params.files:q}"
            " && {params.afterwards:q}"


# The table that somebody asks for, of the scale of this run, with all of its files; those of an
# older run go. It stays until the same table is made again, of this scale or another one.
rule table:
    input:
        RUN.outdated_copy_marker,
        table=RUN.table_path,
    output:
        f"{COPIES}/{{table}}.csv",
    log:
        f"{RESULTS}/logs/render/{{table}}-copied.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    shell:
        "python -m stp.run.input_digest copy {input.table:q} {output:q} 2> {log:q}"


rule all_tables:
    # every table that this scale can make, and a list of them
    input:
        RUN.all_tables,
    output:
        f"{COPIES}/all",
    log:
        f"{RESULTS}/logs/render/tables.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    params:
        tables=RUN.all_tables,
    shell:
        "printf '%s\\n' {params.tables:q} > {output:q} 2> {log:q}"
