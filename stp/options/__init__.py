"""What recipes of the stages may say: dataclasses, for the plan and the stages; no torch."""
