"""Commands printed on pages, to be run in the folder of the project."""


def table_command(scale: str, table: str) -> str:
    """The command that makes a table and all of its inputs.

    Args:
        scale: name of the scale file (which models and datasets are evaluated), which the command
            names, since Snakemake would plan the demo without it.
        table: name of the table.
    """
    return (
        f"snakemake --profile local --configfile config/{scale}.yaml -- results/tables/{table}.csv"
    )


def trust_command(scale: str, dimension: str, convention: str) -> str:
    """The command that shows the trust card of a metric: which distortions of clips it notices.

    Args:
        scale: name of the scale file of the study.
        dimension: name of the study's table.
        convention: exact definition of the metric, such as ``ssim.range2``.
    """
    return f"stp list metrics {convention} --study results/{scale}/plan/{dimension}.json"
