"""A web service in a few lines: POST /classify {"texts": [...]} with FastAPI.

    RINGFENCE_MODEL=support.rf uvicorn web_handler:app

``ringfence serve`` does more (batching, limits, reloading); this is for a service that you
already have. The handlers are plain functions, so FastAPI runs them in threads; they share
the model, and other requests go on while the library works.
"""

import os
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Dict, List

from fastapi import FastAPI
from pydantic import BaseModel

import ringfence

app = FastAPI()


class Request(BaseModel):
    texts: List[str]
    explain: int = 0


@lru_cache(maxsize=None)
def model() -> ringfence.Model:
    return ringfence.load(os.environ["RINGFENCE_MODEL"])


@app.post("/classify")
def classify(request: Request) -> Dict[str, Any]:
    answers = model().classify(request.texts, top=3, explain=request.explain)
    return {"answers": [asdict(answer) for answer in answers]}
