# predictions -> a questionnaire for raters, on demand; answers of raters -> tables


localrules:
    questionnaire,
    human_preferences,
    agreement_with_people,


# This table is part of all tables where there are answers.
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


# Of pairs of videos: without answers it has the printed values alone.
if "agreement_with_people" in FURTHER_TABLES:
    TABLES.append(f"{RESULTS}/tables/agreement_with_people.csv")


# The key is no input: a table never waits for a questionnaire. At the end the results store, which
# findings are judged by, is built again with the new rows.
rule agreement_with_people:
    input:
        [f"{RESULTS}/collected/{dimension}.parquet" for dimension in MANIFESTS],
        answers=sorted(map(str, Path(f"{RESULTS}/human_study/answers").glob("*.csv"))),
        study=str(CONFIG_FOLDER / "human_pairs.yaml"),
        published=[
            str(suite.published_file)
            for suite in suites_with("agreement_with_people").values()
        ],
        code=CODE_OF["agreement_with_people"],
    output:
        **in_all_formats("agreement_with_people"),
        table=table_in_report("agreement_with_people", file="csv"),
        png=table_in_report("agreement_with_people", file="png"),
        svg=f"{RESULTS}/tables/agreement_with_people.svg",
    log:
        f"{RESULTS}/logs/render/agreement_with_people.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        key=f"{RESULTS}/human_study/key.json",
        database=DATABASE,
    shell:
        "stp preferences {input.answers:q} --study {input.study:q} --key {params.key:q} --out {output.table:q} --log {log:q}"
        " && stp collect --database {params.database:q} --log {log:q}"
