# predictions -> a questionnaire for raters; their answers -> a table. Only on demand.


localrules:
    questionnaire,
    human_preferences,


# The table is part of all tables where there are answers.
if "human_preferences" in FURTHER_TABLES and any(
    Path(f"{RESULTS}/human_study/answers").glob("*.csv")
):
    TABLES.append(f"{RESULTS}/tables/human_preferences.csv")


rule questionnaire:
    input:
        ancient(study_predictions),
        # Its text changes exactly when predictions do; the page has the same bytes otherwise.
        manifest=manifest_behind("human_preferences"),
        study=str(CONFIG_FOLDER / "human_study.yaml"),
    output:
        page=f"{RESULTS}/human_study/questionnaire.html",
        key=f"{RESULTS}/human_study/key.json",
    log:
        f"{RESULTS}/logs/render/questionnaire.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    shell:
        "stp questionnaire {input.manifest:q} --out {output.page:q} --study {input.study:q} --log {log:q}"


# The key is no input: a table never writes the questionnaire anew, whose raters have answered.
rule human_preferences:
    input:
        answers=answers_of_raters,
        manifest=manifest_behind("human_preferences"),
        rows=f"{RESULTS}/collected/{is_made_from('human_preferences')}.parquet",
        code=CODE_OF["human_preferences"],
    output:
        table=table_in_report("human_preferences", file="csv"),
        agreement=f"{RESULTS}/tables/human_preferences_agreement.csv",
        markdown=f"{RESULTS}/tables/human_preferences.md",
        latex=f"{RESULTS}/tables/human_preferences.tex",
        html=table_in_report("human_preferences"),
    log:
        f"{RESULTS}/logs/render/human_preferences.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        key=f"{RESULTS}/human_study/key.json",
    shell:
        "stp preferences {input.answers:q} --key {params.key:q} --manifest {input.manifest:q}"
        " --out {output.table:q} --log {log:q}"
