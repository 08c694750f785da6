# scores and features of a dimension -> what its metrics tell: of distorted clips, or beside the success of models

# Tables of a suite that are made from all rows of a dimension, and whether there is a figure.
for study, drawn in (
    ("noise_study", True),
    ("sample_size", True),
    ("metric_correlations", False),
    ("content_motion", False),
    ("trust_cards", False),
    ("success_correlations", False),
):
    if study in FURTHER_TABLES:
        TABLES.append(f"{RESULTS}/tables/{study}.csv")

    rule:
        name:
            f"render_{study}"
        input:
            # Its text changes only together with the rows.
            manifest=ancient(manifest_behind(study)),
            rows=rows_behind(study),
            people=ANSWERS_OF_PEOPLE if study == "trust_cards" else [],
            code=CODE_OF[study],
        output:
            **in_all_formats(study),
            **(drawings(study) if drawn else {}),
            table=table_in_report(study, file="csv"),
        log:
            f"{RESULTS}/logs/render/{study}.log",
        localrule: True
        conda:
            "../../envs/stp.yaml"
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            study=study,
        shell:
            "stp render {input.manifest:q} --study {params.study:q} --out {output.table:q} --log {log:q}"
