"""Run folders: listed, shown, side by side, downloaded, asked for predictions and samples."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, Field

from margin.lab.lab import CurrentLab
from margin.lab.routes.tables import tables_of
from margin.service import form_predictions, run_listing
from margin.service.row_checks import LARGEST_SEED

router = APIRouter(prefix="/runs", tags=["runs"])

PREDICT_SECONDS = 300.0


class PredictionWish(BaseModel):
    """Rows of a form, as texts by the names of columns."""

    rows: list[dict[str, str]] = Field(max_length=form_predictions.MOST_ROWS)
    proba: bool = False


class SampleWish(BaseModel):
    """How many samples, and the seed."""

    n: int = Field(10, ge=1, le=form_predictions.MOST_SAMPLES)
    seed: int = Field(0, ge=0, le=LARGEST_SEED)


@router.get("")
def listing(lab: CurrentLab) -> dict[str, Any]:
    """All runs, newest first."""
    return {"folder": str(lab.folder), "runs": run_listing.list_runs(lab.folder)}


@router.get("/side-by-side")
def side_by_side(ids: Annotated[str, Query(max_length=4000)], lab: CurrentLab) -> dict[str, Any]:
    """Curves of several runs, and the settings in which they differ."""
    return run_listing.runs_side_by_side(lab.folder, [id for id in ids.split(",") if id])


@router.get("/{id}")
def run(id: str, lab: CurrentLab) -> dict[str, Any]:
    """One run."""
    return run_listing.run_page(lab.folder, id)


@router.get("/{id}/records")
def records(id: str, lab: CurrentLab) -> dict[str, Any]:
    """The curves of a run as they are now."""
    return run_listing.run_records(lab.folder, id)


@router.get("/{id}/model")
def model(id: str, lab: CurrentLab) -> FileResponse:
    """The model file."""
    path = run_listing.model_file(lab.folder, id)
    return FileResponse(path, media_type="application/octet-stream", filename=f"{id}.safetensors")


@router.get("/{id}/form")
def form(id: str, lab: CurrentLab) -> dict[str, Any]:
    """The fields by which a model is asked."""
    path = run_listing.find_run(lab.folder, id).folder
    return lab.calls.call(form_predictions.prediction_form, str(path), seconds=PREDICT_SECONDS)


@router.post("/{id}/predict")
def predict(id: str, asked: PredictionWish, lab: CurrentLab) -> dict[str, list[Any]]:
    """Predictions for rows of a form."""
    path = str(run_listing.find_run(lab.folder, id).folder)
    arguments = (path, asked.rows, asked.proba)
    return lab.calls.call(form_predictions.predict_rows, *arguments, seconds=PREDICT_SECONDS)


@router.get("/{id}/predictions.csv")
def predictions(id: str, table: str, lab: CurrentLab, proba: bool = False) -> Response:
    """Predictions for every row of a table that was sent."""
    path = str(run_listing.find_run(lab.folder, id).folder)
    arguments = (path, str(tables_of(lab).path(table)), proba)
    text = lab.calls.call(form_predictions.predict_file, *arguments, seconds=PREDICT_SECONDS)
    headers = {"content-disposition": 'attachment; filename="predictions.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/{id}/sample")
def sample(id: str, asked: SampleWish, lab: CurrentLab) -> dict[str, list[Any]]:
    """New rows that a generative model draws."""
    path = str(run_listing.find_run(lab.folder, id).folder)
    return lab.calls.call(form_predictions.sample_rows, path, asked.n, asked.seed, seconds=PREDICT_SECONDS)
