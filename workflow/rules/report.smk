# results.duckdb (and predictions, for pictures) -> one page to look at, what to cite, and a
# questionnaire for raters


rule report:
    input:
        ancient(list(RUN.manifests.values())),
        RUN.collected_files,
        RUN.outdated_marker(f"{RESULTS}/report/index.html", RUN.digest_of_report),
    output:
        page=in_report(
            f"{RESULTS}/report/index.html",
            caption_of("report"),
            "Report",
            {"page": "the report of stp", "data": RUN.data_origin["all"]},
        ),
    log:
        f"{RESULTS}/logs/report/report.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        database=RUN.database,
        digest=RUN.digest_of_report,
        note=note_of(f"{RESULTS}/report/index.html"),
    shell:
        "stp render {params.database:q} --out {output.page:q} --log {log:q}"
        " && python -m stp.run.input_digest note {params.digest:q} {params.note:q}"


rule cite:
    input:
        ancient(list(RUN.manifests.values())),
        RUN.collected_files,
        RUN.outdated_marker(f"{RESULTS}/CITATION.md", RUN.digest_of_citation),
    output:
        bibtex=f"{RESULTS}/CITATION.bib",
        markdown=in_report(
            f"{RESULTS}/CITATION.md",
            caption_of("citation"),
            "Citations",
            {"page": "what to cite", "data": RUN.data_origin["all"]},
        ),
    log:
        f"{RESULTS}/logs/render/citation.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        database=RUN.database,
        digest=RUN.digest_of_citation,
        note=note_of(f"{RESULTS}/CITATION.md"),
    shell:
        "stp list works --database {params.database:q} --out {output.bibtex:q} --out {output.markdown:q}"
        " --log {log:q} && python -m stp.run.input_digest note {params.digest:q} {params.note:q}"


rule questionnaire:
    input:
        ancient(JOBS.predictions_of_study(RUN.of_raters)),
        RUN.outdated_marker(
            f"{RESULTS}/human_study/questionnaire.html", RUN.digest_of_questionnaire
        ),
    output:
        page=f"{RESULTS}/human_study/questionnaire.html",
        key=f"{RESULTS}/human_study/key.json",
    log:
        f"{RESULTS}/logs/render/questionnaire.log",
    localrule: True
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        manifest=RUN.manifests.get(RUN.of_raters),
        study=RUN.study,
        digest=RUN.digest_of_questionnaire,
        note=note_of(f"{RESULTS}/human_study/questionnaire.html"),
    shell:
        "stp study questionnaire {params.manifest:q} --out {output.page:q} --study {params.study:q}"
        " --log {log:q}"
        " && python -m stp.run.input_digest note {params.digest:q} {params.note:q}"
