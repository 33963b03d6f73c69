"""The room of experiments: what each shows, and its picture, drawn when somebody looks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from margin.lab.lab import CurrentLab
from margin.service import experiment_pages
from margin.service.row_checks import LARGEST_SEED

router = APIRouter(prefix="/experiments", tags=["gallery"])

FAST_SECONDS, FULL_SECONDS = 600.0, 3600.0


class DrawingWish(BaseModel):
    """With which seed and size an experiment is run, and a name by which it can be stopped."""

    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    fast: bool = True
    again: bool = False
    name: str = Field("", max_length=120)


@router.get("")
def listing() -> list[dict[str, Any]]:
    """Every experiment, with its picture's address where it was drawn before."""
    return [
        {**entry, "outcome": experiment_pages.kept_experiment(entry["name"], 0, True)}
        for entry in experiment_pages.list_experiments()
    ]


@router.get("/{name}")
def experiment(name: str, seed: int = 0, fast: bool = True) -> dict[str, Any]:
    """One experiment: text, code, rows, and its outcome with this seed if it was run before."""
    return {
        **experiment_pages.experiment_page(name),
        "outcome": experiment_pages.kept_experiment(name, seed, fast),
    }


@router.post("/{name}/draw")
def draw(name: str, asked: DrawingWish, lab: CurrentLab) -> dict[str, Any]:
    """Run the experiment and draw it; what was drawn before is given at once unless it is asked for again."""
    kept = None if asked.again else experiment_pages.kept_experiment(name, asked.seed, asked.fast)
    if kept is not None:
        return kept
    seconds = FAST_SECONDS if asked.fast else FULL_SECONDS
    arguments = (name, asked.seed, asked.fast)
    return lab.calls.call(experiment_pages.draw_experiment, *arguments, seconds=seconds, name=asked.name)


@router.get("/{name}/picture.{suffix}")
def picture(
    name: str, suffix: Annotated[str, Path(pattern="^(png|gif)$")], seed: int = 0, fast: bool = True
) -> FileResponse:
    """A picture that was drawn."""
    file, media = experiment_pages.picture_of(name, seed, fast, suffix)
    return FileResponse(file, media_type=media)
