# networks of the paper -> what they need on this machine, for a table of speeds; on demand
#
# Whatever the scale: the networks are those of config/paper.yaml, and nothing has to be prepared or
# trained. What a measurement is made from (options, code) is in the text of its input, whose time
# changes exactly when it has to be made again.


rule profile:
    input:
        RUN.network_of,
    output:
        measured="results/profile/{model}/{dataset}.json",
    log:
        f"{RESULTS}/logs/profile/{{model}}/{{dataset}}.log",
    conda:
        "../../envs/stp.yaml"
    threads: JOBS.profile_threads
    resources:
        **JOBS.asks_profile(),
    params:
        config=RUN.paper,
        seconds=5,
    shell:
        "stp profile {wildcards.model:q} {wildcards.dataset:q} --configfile {params.config:q}"
        " --threads {threads:q} --seconds {params.seconds:q} --out {output.measured:q} --log {log:q}"
