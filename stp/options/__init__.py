"""What recipes of the stages may say: dataclasses without torch, for the plan and for the stages."""
