# what the rules of all stages share
from types import SimpleNamespace

from stp.studies.options import BEST_OF_FILE, BestOf, load_item
from stp.render.tables import reproduced
from stp.render.tables.groups import demand_runs
from stp.plan.manifests import published_names
from stp.plan.suite import read_suites, suites_with

# What `results/tables/all` and `results/figures/all` make: each file of rules adds its own.
TABLES = [f"{RESULTS}/tables/{name}.csv" for name in PLAN.config.scale.dimensions]
FIGURES = []
# What the code is that makes each kind of table: an edit of it makes these again, and no other.
CODE_OF = {
    name: workflow_files.write_code_input(name, [module], workflow.is_main_process)
    for name, module in {**RENDER, "citations": "stp.export.cite"}.items()
}
# Tables of the suite besides those of its dimensions.
FURTHER_TABLES = [
    *PLAN.config.suite.tables,
    *(
        table
        for name in PLAN.config.scale.dimensions
        for table in PLAN.config.suite.dimensions[name].tables
    ),
]
# What raters say of pairs of videos, where a table of the suite asks them.
ANSWERS_OF_PEOPLE = [
    f"{RESULTS}/tables/{name}.csv"
    for name in FURTHER_TABLES
    if name == "agreement_with_people"
]

# Whose bytes the numbers of a dimension are from, in words, for captions and labels of
# `snakemake --report`: captions see the configuration, and nothing reads it after the plan is made.
WHOSE_BYTES = config["whose_bytes"] = workflow_files.whose_bytes(PLAN)
config["captions"] = {"dimensions": workflow_files.captions(PLAN)}
NO_DATA = "none: configuration and networks"


def in_report(path, caption, category, **labels):
    """A file that `snakemake --report` shows, with a caption of workflow/report and its labels."""

    def labels_of(wildcards):
        return {
            name: text(wildcards) if callable(text) else text
            for name, text in labels.items()
        }

    return report(
        path,
        caption=f"../report/{caption}.rst",
        category=category,
        subcategory=labels.pop("subcategory", None),
        labels=labels_of,
    )


def table_in_report(name, caption=None, whose=WHOSE_BYTES["all"], file="html"):
    """One file of a table for `snakemake --report`: the page, or the CSV file."""
    return in_report(
        f"{RESULTS}/tables/{name}.{file}",
        caption or name,
        "Tables",
        table=name,
        format={"html": "page"}.get(file, file.upper()),
        bytes=whose,
    )


def whose_bytes(wildcards):
    """Whose bytes a dimension is about."""
    return WHOSE_BYTES[wildcards.dimension]


def files_of(dimension):
    """The files of a dimension's table; where its scores are read by lead time, one more."""
    by_lead = PLAN.config.suite.dimensions[dimension].by_lead
    return {
        "table": table_in_report("{dimension}", "dimension", whose_bytes, "csv"),
        "tidy": f"{RESULTS}/tables/{{dimension}}_tidy.csv",
        **({"leads": f"{RESULTS}/tables/{{dimension}}_leads.csv"} if by_lead else {}),
        "markdown": f"{RESULTS}/tables/{{dimension}}.md",
        "latex": f"{RESULTS}/tables/{{dimension}}.tex",
        "html": table_in_report("{dimension}", "dimension", whose_bytes),
    }


def in_all_formats(name, whose=WHOSE_BYTES["all"], caption=None):
    """The outputs of a table besides its CSV file."""
    return {
        "markdown": f"{RESULTS}/tables/{name}.md",
        "latex": f"{RESULTS}/tables/{name}.tex",
        "html": table_in_report(name, caption, whose),
    }


def drawings(name):
    """The figure that belongs to a table."""
    return {
        "png": table_in_report(name, file="png"),
        "svg": f"{RESULTS}/tables/{name}.svg",
    }


# the wildcards of a cell, in the order of its path in the store
_KEYS = (
    "suite",
    "dimension",
    "model",
    "variant",
    "trained_on",
    "train_subset",
    "tested_on",
    "subset",
    "setting",
    "seed",
)
_CELL = str(Path(*[f"{{{key}}}" for key in _KEYS]))
CELL = f"{_CELL}/{{fingerprint}}"
PERCEPTUAL_CELL = f"{_CELL}/{PERCEPTUAL}/{{fingerprint}}"


def kind_of(dimension):
    """The kind of the samples that a dimension tests."""
    case = PLAN.config.scale.dimensions[dimension].cases()[0]
    return PLAN.recipes.samples(case.tested_on)


def is_made_from(table):
    """The dimension whose rows a further table of the suite is made from."""
    return PLAN.config.suite.table_of(table)


def needed_by(receipt):
    """Ask the plan which receipts and lock files an artefact waits for."""
    return lambda wildcards: PLAN.inputs(PLAN.find(receipt.format(**wildcards)))


def manifest_of(wildcards):
    """What the table of a dimension is made from, if the scale has that dimension."""
    if wildcards.dimension not in MANIFESTS:
        raise StpError(
            f"the scale {PLAN.config.scale.scale} has no dimension {wildcards.dimension}",
            expected=f"one of {', '.join(MANIFESTS)}",
            remedy="declare it under `dimensions:` in the scale file",
        )
    return MANIFESTS[wildcards.dimension]


# Resources are functions, asked once per job and again before every retry (stp/run/cluster/resources.py). Names
# that the site does not set are left out.
ASKED = ["mem_mb", "runtime", "slurm_extra"]
ASKED += ["gres" if SITE.gpu.request == "gres" else "gpu"]
ASKED += [name for name in SITE_RESOURCES if RESOURCES.site_sets(name)]


def made_table(wildcards):
    """The table that a run of the scale makes; one of a dimension that it has."""
    if any(wildcards.table in suite.dimensions for suite in read_suites().values()):
        manifest_of(SimpleNamespace(dimension=wildcards.table))
    made = f"{RESULTS}/tables/{wildcards.table}.csv"
    known = [f"results/tables/{Path(table).name}" for table in TABLES]
    asked = f"results/tables/{wildcards.table}.csv"
    called.check_targets([made], workflow.rules, known, asked)
    return made


def asks(receipt):
    """All resources of a rule: what its artefact is expected to need, in this site's words."""

    def ask(name):
        return lambda wildcards, attempt: RESOURCES.of(
            receipt.format(**wildcards), attempt
        ).get(name)

    return {name: ask(name) for name in ASKED}


def asks_fetch(lock):
    """The resources of a download."""

    def ask(name):
        return lambda wildcards: RESOURCES.of_fetch(lock.format(**wildcards)).get(name)

    return {name: ask(name) for name in ASKED}


def threads_of(receipt):
    """CPU threads, of all processes of a job together."""
    return lambda wildcards: RESOURCES.of(receipt.format(**wildcards))["threads"]


def group_of(receipt):
    """Short jobs are submitted together."""
    return lambda wildcards: RESOURCES.group(receipt.format(**wildcards))


# Measured alone: a job takes all cores of this machine, or what a cluster's job asks for.
PROFILE_THREADS = workflow.resource_settings.cores or 8


def asks_profile():
    """The resources of a measurement."""

    def ask(name):
        return lambda wildcards: RESOURCES.of_profile(PROFILE_THREADS).get(name)

    return {name: ask(name) for name in ASKED}


def manifest_behind(table):
    """The manifest of the dimension that a further table is made from, if the scale has it."""
    return lambda wildcards: manifest_of(SimpleNamespace(dimension=is_made_from(table)))


def rows_behind(table):
    """The rows that a further table is made from."""
    return f"{RESULTS}/collected/{is_made_from(table)}.parquet"


def repeated_runs(wildcards):
    """The manifest of the dimension whose models are trained with enough seeds."""
    manifest = manifest_behind("reliability")(wildcards)
    models = PLAN.config.scale.dimensions[is_made_from("reliability")].models
    trained = [name for name in models if PLAN.config.models[name].fit == "sgd"]
    seeds = len(PLAN.config.scale.seeds)
    demand_runs(
        [(name, seeds) for name in trained], f"the scale {PLAN.config.scale.scale}"
    )
    return manifest


def can_repeat():
    """Whether models of the scale are trained with enough seeds for the reliability study."""
    try:
        repeated_runs(None)
    except StpError:
        return False
    return True


def can_reproduce():
    """Whether the scale has a cell of a table of what the paper reproduced."""
    cells = [
        one.cell
        for one in PLAN.cells
        if one.cell.dimension == is_made_from("reproduction")
    ]
    tables = PLAN.config.suite.reproduction
    return bool(tables) and reproduced.has_cells(
        cells,
        {dataset: table.table for dataset, table in tables.items()},
        published_names(PLAN.config),
        PLAN.config.suite.published_file,
    )


def study_predictions(wildcards):
    """The receipts of the predictions that raters shall see, if the scale has them all."""
    manifest_behind("human_preferences")(wildcards)
    study = load_item(BestOf, BEST_OF_FILE, PLAN.config.scale.scale)
    made = {}
    for one in PLAN.cells:
        cell = one.cell
        kept = one.predictions is not None
        if (
            kept
            and cell.dimension == is_made_from("human_preferences")
            and cell.trained_on == cell.tested_on
        ):
            made.setdefault((cell.model, cell.tested_on), one)
    study.demand(PLAN.config.scale.scale, made, BEST_OF_FILE)
    needed = [made[model, dataset] for dataset in study.clips for model in study.models]
    return [f"{STORE}/{one.predictions.receipt}" for one in needed]


def answers_of_raters(wildcards):
    """The files of answers, if somebody answered."""
    found = sorted(map(str, Path(f"{RESULTS}/human_study/answers").glob("*.csv")))
    if not found:
        raise StpError(
            f"{RESULTS}/human_study/answers: no answers",
            expected="files that the questionnaire saved, *.csv",
            remedy="put the files of raters there; docs/human_study.md says how to get some",
        )
    return found


def rows_of_figure(wildcards):
    """The rows of a dimension, and of the single forecasts that its ensembles are divided by."""
    of = PLAN.config.suite.dimensions[wildcards.dimension]
    names = [wildcards.dimension, *([of.controls] if wildcards.kind == "gain" else [])]
    return [f"{RESULTS}/collected/{name}.parquet" for name in names]
