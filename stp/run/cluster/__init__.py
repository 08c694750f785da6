"""Jobs on a cluster: resource requests, signals, records of attempts, and the Snakemake process."""
