# raw bytes: found, downloaded or generated, and locked at first sight


rule fetch:
    output:
        lock=f"{STORE}/raw/{{dataset}}/{{release}}.lock.json",
    log:
        "results/logs/fetch/{dataset}/{release}.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        mem_mb=2000,
        runtime=1440,
    params:
        config=CONFIG,
    shell:
        "stp fetch {output.lock} --configfile {params.config} --log {log}"
