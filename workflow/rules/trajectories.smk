# predictions of people -> pictures over the map: the scenarios in which models differ most
#
# Models that are tested on a dataset predict the same scenarios in all dimensions; the first one
# of the scale, which has most of them, is drawn.

ON_MAPS = [name for name in MANIFESTS if kind_of(name).pictures == "trajectories"]
TRAJECTORIES_INPUT = workflow_files.write_pictures_input(
    "trajectories",
    ["stp.render.pictures.trajectories"],
    {name: MANIFESTS[name] for name in ON_MAPS[:1]},
    workflow.is_main_process,
)


localrules:
    trajectories,


if ON_MAPS:
    FIGURES += [f"{RESULTS}/figures/trajectories.png"]


rule trajectories:
    input:
        # What is drawn, by what; other rows draw it no second time.
        list(TRAJECTORIES_INPUT.values()),
        manifest=ancient([MANIFESTS[name] for name in ON_MAPS[:1]]),
        scores=ancient([path for name in ON_MAPS[:1] for path in PLAN.receipts(name)]),
    output:
        png=in_report(
            f"{RESULTS}/figures/trajectories.png",
            "trajectories",
            "Pictures of forecasts",
            picture="trajectories",
            bytes=WHOSE_BYTES["all"],
        ),
        svg=f"{RESULTS}/figures/trajectories.svg",
        pdf=f"{RESULTS}/figures/trajectories.pdf",
        gif=f"{RESULTS}/figures/trajectories.gif",
        mp4=f"{RESULTS}/figures/trajectories.mp4",
    log:
        f"{RESULTS}/logs/render/trajectories.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    shell:
        "stp draw trajectories {input.manifest:q} --out {output.png:q} --out {output.svg:q}"
        " --out {output.pdf:q} --out {output.gif:q} --out {output.mp4:q} --log {log:q}"
