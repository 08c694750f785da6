# raw bytes: found, downloaded or generated, and locked at first sight

LOCK = f"{STORE}/raw/{{dataset}}/{{release}}.lock.json"


rule fetch:
    output:
        lock=LOCK,
    log:
        f"{RESULTS}/logs/fetch/{{dataset}}/{{release}}.log",
    conda:
        "../../envs/stp.yaml"
    resources:
        **asks_fetch(LOCK),
    params:
        config=CONFIG,
    shell:
        "stp fetch {output.lock:q} --configfile {params.config:q} --log {log:q}"
