"""Commands printed on pages, to be run in the folder of the project."""


def table_command(scale: str, table: str) -> str:
    """The command that makes a table and all of its inputs at a scale.

    The command names the scale file, without which Snakemake would plan the demo.
    """
    return (
        f"snakemake --profile local --configfile config/{scale}.yaml -- results/tables/{table}.csv"
    )


def trust_command(scale: str, dimension: str, convention: str) -> str:
    """The command that shows the trust card of a metric from a distortion study."""
    return f"stp list metrics {convention} --study results/{scale}/plan/{dimension}.json"
