# raw files: found, downloaded or generated, and locked at first sight


rule fetch:
    output:
        lock=JOBS.lock,
    log:
        f"{RESULTS}/logs/fetch/{{dataset}}/{{release}}.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        **JOBS.asks_fetch(),
    shell:
        "stp fetch {output.lock:q} --log {log:q}"
