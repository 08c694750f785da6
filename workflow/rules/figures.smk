# collected scores, forecasts -> figures and pictures; stp/workflow/figures.py says of each what it is
# made from
#
# Pictures show one test sample of a case beside the truth. They wait for all scores of a dimension,
# and so for the predictions, which are read from the folders that the manifest names.
for figure in RUN.figures.rules:

    rule:
        name:
            figure.name
        input:
            ancient(RUN.figures.ancient_of(figure)),
            RUN.figures.rows_of(figure),
            RUN.outdated_marker(f"{figure.figure}.png", RUN.figures.digests_of(figure)),
        output:
            **{
                ending: (
                    in_report(
                        path,
                        caption_of(figure.caption),
                        figure.category,
                        {**figure.labels, "data": RUN.data_origin_of},
                        figure.subcategory,
                    )
                    if ending == figure.endings[0]
                    else path
                )
                for ending, path in figure.files.items()
            },
        log:
            figure.log,
        wildcard_constraints:
            **figure.constraints,
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            digest=RUN.figures.digests_of(figure),
            note=note_of(f"{figure.figure}.png"),
            words=RUN.figures.arguments_of(figure),
        shell:
            "stp draw {params.words:q} --log {log:q}"
            " && python -m stp.run.input_digest note {params.digest:q} {params.note:q}"


rule all_figures:
    # every figure that this scale can make, and a list of them
    input:
        RUN.figures.paths,
    output:
        f"{RESULTS}/figures/all",
    log:
        f"{RESULTS}/logs/render/figures.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    shell:
        "printf '%s\\n' {input:q} > {output:q} 2> {log:q}"
