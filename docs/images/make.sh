#!/usr/bin/env bash
# The pictures of README.md, from the finished demo (make tables). The second one needs Chromium.
set -euo pipefail
cd "$(dirname "$0")/../.."

stp draw pictures results/demo/plan/short_term.json --cell kth --models persistence,convlstm \
    --out docs/images/demo_kth.png
rm docs/images/demo_kth.svg
stp render results/demo/results.duckdb
chromium --headless --no-sandbox --hide-scrollbars --window-size=1200,1000 --virtual-time-budget=8000 \
    --screenshot="$PWD/docs/images/report.png" \
    "file://$PWD/results/demo/report/index.html#overview" 2> /dev/null
# 128 colours are enough for a page, and make the file a third as large.
python -c 'import sys; from PIL import Image
Image.open(sys.argv[1]).convert("RGB").quantize(128).save(sys.argv[1], optimize=True)' docs/images/report.png
