# collected scores -> figures: only on demand, one job each
#
# `figures.json` holds what the code that draws them is, so that an edit of it draws them again, and
# no table.

from stp.render.figures.kinds import KINDS
from stp.render.figures.planned import figures


localrules:
    figure_of_dimension,
    figure_of_case,


config["captions"]["figures"] = {name: kind.caption for name, kind in KINDS.items()}
FIGURES += [f"{RESULTS}/{path}" for path in figures(PLAN)]
FIGURES_INPUT = workflow_files.write_code_input(
    "figures", [kind.module for kind in KINDS.values()], workflow.is_main_process
)


rule figure_of_dimension:
    input:
        # Its text changes only together with the rows.
        manifest=ancient(manifest_of),
        rows=f"{RESULTS}/collected/{{dimension}}.parquet",
        code=FIGURES_INPUT,
    output:
        png=in_report(
            f"{RESULTS}/figures/{{dimension}}/{{kind}}.png",
            "figure",
            "Figures",
            subcategory="{dimension}",
            figure="{kind}",
            test="all",
            bytes=whose_bytes,
        ),
        svg=f"{RESULTS}/figures/{{dimension}}/{{kind}}.svg",
    log:
        f"{RESULTS}/logs/figures/{{dimension}}/{{kind}}.log",
    wildcard_constraints:
        dimension="[^/]+",
        kind="|".join(name for name, kind in KINDS.items() if not kind.of_case),
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp draw figure {wildcards.kind:q} {input.manifest:q} --out {output.png:q} --log {log:q}"


rule figure_of_case:
    input:
        manifest=ancient(manifest_of),
        rows=rows_of_figure,
        code=FIGURES_INPUT,
    output:
        png=in_report(
            f"{RESULTS}/figures/{{dimension}}/{{kind}}/{{case}}.png",
            "figure",
            "Figures",
            subcategory="{dimension}",
            figure="{kind}",
            test="{case}",
            bytes=whose_bytes,
        ),
        svg=f"{RESULTS}/figures/{{dimension}}/{{kind}}/{{case}}.svg",
    log:
        f"{RESULTS}/logs/figures/{{dimension}}/{{kind}}/{{case}}.log",
    wildcard_constraints:
        dimension="[^/]+",
        case="[^/]+",
        kind="|".join(name for name, kind in KINDS.items() if kind.of_case),
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp draw figure {wildcards.kind:q} {input.manifest:q} --cell {wildcards.case:q}"
        " --out {output.png:q} --log {log:q}"
