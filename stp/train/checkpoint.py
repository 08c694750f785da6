"""Checkpoints of unfinished training runs, from which interrupted jobs resume."""

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

DIGEST_BYTES = 32


def recipe_hash(recipe: Mapping[str, Any]) -> str:
    """SHA-256 of a recipe (all settings of a training run), as hexadecimal digits."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()


class Checkpoint:
    """File with the state of a training run, from which an interrupted run resumes.

    The file contains a SHA-256 of its content, since torch does not notice flipped bits.

    Args:
        path: path of the file.
        recipe: recipe of the training; the state of another recipe is not used.
    """

    def __init__(self, path: Path, recipe: Mapping[str, Any]) -> None:
        self.path = path
        self.recipe = recipe_hash(recipe)

    def save(self, state: dict[str, Any]) -> None:
        """Write `state` to the file, atomically."""
        archive = io.BytesIO()
        torch.save({"recipe": self.recipe, "state": state}, archive)
        content = archive.getbuffer()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".part")
        try:
            with beside.open("wb") as file:
                file.write(hashlib.sha256(content).digest())
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        finally:  # leave nothing behind on a full disk
            beside.unlink(missing_ok=True)

    def load(self, say: Callable[[str], None]) -> dict[str, Any] | None:
        """Read the state.

        A file that is damaged or belongs to another recipe is renamed, and reported to `say`.

        Args:
            say: function that receives the message.

        Returns:
            the state, on the CPU; None if there is no usable file.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        checksum, archive = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        if hashlib.sha256(archive).digest() != checksum:
            self._move_aside("is damaged", say)
            return None
        saved = torch.load(io.BytesIO(archive), map_location="cpu", weights_only=True)
        if saved["recipe"] != self.recipe:
            self._move_aside("belongs to another recipe", say)
            return None
        state: dict[str, Any] = saved["state"]
        return state

    def _move_aside(self, problem: str, say: Callable[[str], None]) -> None:
        aside = self.path.with_name(self.path.name + ".unused")
        self.path.replace(aside)
        say(f"training state {problem}: moved to {aside.name}, starting from the beginning")
