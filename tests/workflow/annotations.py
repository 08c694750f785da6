"""Prints what all rules tell `snakemake --report` of their outputs, as JSON: run in a checkout."""

import json
import sys
from pathlib import Path

from snakemake.api import ConfigSettings, ResourceSettings, SnakemakeApi
from snakemake.io import get_flag_value, is_flagged

with SnakemakeApi() as api:
    workflow = api.workflow(
        resource_settings=ResourceSettings(cores=1),
        config_settings=ConfigSettings(configfiles=[Path(sys.argv[1])]),
        snakefile=Path("workflow/Snakefile"),
    )._workflow
    found = {}
    for rule in workflow.rules:
        outputs = {}
        for output in rule.output:
            said = get_flag_value(output, "report") if is_flagged(output, "report") else None
            outputs[str(output)] = said and {
                "caption": said.caption.get_path_or_uri(secret_free=True),
                "category": said.category,
                "subcategory": said.subcategory,
            }
        found[rule.name] = outputs
    text = workflow.report_text
    found["workflow"] = text.get_path_or_uri(secret_free=True) if text else None
    sys.stdout.write("\n" + json.dumps(found) + "\n")
