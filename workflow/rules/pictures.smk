# predictions -> pictures of one test sample per case: what models predict, beside the truth
#
# They wait for all scores of a dimension, and so for the predictions, which are read from the folders
# that the manifest names. What they read of it is in an input of its own, so that nothing else that
# is collected draws them again.


localrules:
    render_strip,
    render_movie,


PICTURES_INPUT = workflow_files.write_pictures_input(
    "pictures", ["stp.render.pictures.files"], MANIFESTS, workflow.is_main_process
)
FIGURES += [
    f"{RESULTS}/figures/{dimension}/{kind}"
    for dimension in PLAN.config.scale.dimensions
    if kind_of(dimension).pictures == "strips"
    for case in PLAN.pictured(dimension)
    for kind in (f"strips/{case}.png", f"movies/{case}.gif")
]


rule render_strip:
    input:
        lambda wildcards: PICTURES_INPUT[wildcards.dimension],
        manifest=ancient(manifest_of),
        scores=ancient(lambda wildcards: PLAN.receipts(wildcards.dimension)),
    output:
        png=in_report(
            f"{RESULTS}/figures/{{dimension}}/strips/{{case}}.png",
            "strips",
            "Pictures of forecasts",
            subcategory="{dimension}",
            picture="strips",
            test="{case}",
            bytes=whose_bytes,
        ),
        svg=f"{RESULTS}/figures/{{dimension}}/strips/{{case}}.svg",
    log:
        f"{RESULTS}/logs/render/{{dimension}}/strips/{{case}}.log",
    wildcard_constraints:
        dimension="[^/]+",
        case="[^/]+",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp draw pictures {input.manifest:q} --cell {wildcards.case:q} --out {output.png:q} --log {log:q}"


rule render_movie:
    input:
        lambda wildcards: PICTURES_INPUT[wildcards.dimension],
        manifest=ancient(manifest_of),
        scores=ancient(lambda wildcards: PLAN.receipts(wildcards.dimension)),
    output:
        gif=in_report(
            f"{RESULTS}/figures/{{dimension}}/movies/{{case}}.gif",
            "movies",
            "Pictures of forecasts",
            subcategory="{dimension}",
            picture="movies",
            test="{case}",
            bytes=whose_bytes,
        ),
        mp4=f"{RESULTS}/figures/{{dimension}}/movies/{{case}}.mp4",
    log:
        f"{RESULTS}/logs/render/{{dimension}}/movies/{{case}}.log",
    wildcard_constraints:
        dimension="[^/]+",
        case="[^/]+",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "stp draw pictures {input.manifest:q} --cell {wildcards.case:q} --out {output.gif:q}"
        " --out {output.mp4:q} --log {log:q}"
