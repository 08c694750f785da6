# answers of raters about pairs of videos -> how often metrics agree with people


localrules:
    agreement_with_people,


# Without answers it has the printed values alone.
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
        "stp preferences {input.answers:q} --pairs --key {params.key:q} --out {output.table:q} --log {log:q}"
        " && stp collect --database {params.database:q} --log {log:q}"
