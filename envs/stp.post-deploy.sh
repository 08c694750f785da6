#!/usr/bin/env bash
# Snakemake runs this in the new conda environment, from the repository root.
set -euo pipefail
pip install --no-deps --editable .
