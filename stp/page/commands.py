"""Commands that pages name: each works as it stands, in the folder of the project."""


def table_command(scale: str, table: str) -> str:
    """What makes a table of a scale, and all that it needs.

    Without its scale file, Snakemake would plan the demo.
    """
    return (
        f"snakemake --profile local --configfile config/{scale}.yaml -- results/tables/{table}.csv"
    )


def trust_command(scale: str, dimension: str, convention: str) -> str:
    """What shows the trust card of a metric, made from a study of distortions."""
    return f"stp list metrics {convention} --study results/{scale}/plan/{dimension}.json"
