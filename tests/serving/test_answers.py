"""A served model gives the answers of the model, refuses in one sentence, and batches what comes at once."""

import asyncio
import base64
import io
import json
import threading

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from tests.event_loops import run_coroutine

import margin
from margin.data import preprocessor
from margin.serving.answering import ServedModel
from margin.serving.app import RequestLimits, create_server
from margin.serving.batching import Batcher, TooBusy

PORT = 8766


def client(path, **options):
    app = create_server(ServedModel(path), port=PORT, **options)
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}")


def houses(n=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": rng.uniform(30, 200, n).round(1),
            "town": rng.choice(["Bern", "Basel"], n),
            "rooms": rng.integers(1, 6, n),
        }
    )
    return frame, frame["area"] * 5 + np.where(frame["town"] == "Bern", 0.0, 50.0) + rng.normal(0, 1, n)


@pytest.fixture(scope="module")
def regressor(tmp_path_factory):
    X, y = houses()
    model = make_pipeline(preprocessor(X), margin.Ridge()).fit(X, y)
    path = tmp_path_factory.mktemp("model") / "houses.safetensors"
    margin.save(model, path)
    return path, model


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    path = tmp_path_factory.mktemp("model") / "iris.safetensors"
    model = margin.GaussianNB().fit(X, y)
    margin.save(model, path)
    return path, model


def test_rows_by_name_get_the_predictions_of_the_model(regressor):
    path, model = regressor
    X, _ = houses()
    rows = json.loads(X[:5].to_json(orient="records"))
    answer = client(path).post("/predict", json={"rows": rows})
    assert answer.status_code == 200
    np.testing.assert_allclose(answer.json()["predictions"], model.predict(X[:5]))


def test_a_null_is_a_missing_value_and_the_schema_names_the_columns(regressor):
    path, model = regressor
    web = client(path)
    schema = web.get("/schema").json()
    assert schema["question"]["properties"]["rows"]["items"]["required"] == ["area", "town", "rooms"]
    assert schema["question"]["properties"]["rows"]["items"]["properties"]["town"]["type"][0] == "string"
    document = web.get("/openapi.json").json()
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == schema["question"]
    got = web.post("/predict", json={"rows": [{"area": 70.0, "town": None, "rooms": 2}]}).json()["predictions"]
    expected = model.predict(pd.DataFrame({"area": [70.0], "town": [None], "rooms": [2]}))
    np.testing.assert_allclose(got, expected)


def test_rows_as_lists_and_probabilities_by_class(classifier):
    path, model = classifier
    X, _ = load_iris(return_X_y=True)
    answer = client(path).post("/predict", json={"rows": X[::50].tolist(), "proba": True}).json()["probabilities"]
    np.testing.assert_allclose([list(row.values()) for row in answer], model.predict_proba(X[::50]))
    assert list(answer[0]) == ["0", "1", "2"]


def test_texts_are_asked_as_texts(tmp_path):
    texts = ["good film", "bad film", "good book", "bad book"] * 5
    labels = ["up", "down"] * 10
    model = margin.TextClassifier(max_iter=3, random_state=0).fit(texts, labels)
    margin.save(model, tmp_path / "text.safetensors")
    answer = client(tmp_path / "text.safetensors").post("/predict", json={"texts": ["good film", ""]})
    assert answer.json()["predictions"] == model.predict(["good film", ""]).tolist()


def test_pictures_are_asked_as_files_in_base64(tmp_path):
    X, y = load_digits(return_X_y=True)
    images = (X.reshape(-1, 8, 8) * 15).astype(np.uint8)
    model = margin.CNNClassifier(["conv 4 3", "pool 2"], max_iter=2, random_state=0).fit(images[:200], y[:200])
    margin.save(model, tmp_path / "digits.safetensors")
    web = client(tmp_path / "digits.safetensors")
    files = []
    for image in images[:4]:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "PNG")
        files.append(base64.b64encode(buffer.getvalue()).decode())
    assert web.post("/predict", json={"images": files}).json()["predictions"] == model.predict(images[:4]).tolist()
    assert "no PNG" in web.post("/predict", json={"images": ["aGVsbG8="]}).json()["error"]
    assert "base64" in web.post("/predict", json={"images": ["?"]}).json()["error"]


def test_a_language_model_writes_the_same_at_once_and_in_pieces(tmp_path):
    model = margin.LanguageModel(max_iter=2, random_state=0).fit(["one two three four", "one two one two"] * 4)
    margin.save(model, tmp_path / "words.safetensors")
    web = client(tmp_path / "words.safetensors")
    wish = {"prompt": "one", "max_tokens": 8, "seed": 3}
    whole = web.post("/generate", json=wish | {"stream": False}).json()["text"]
    assert whole == model.generate("one", 8, random_state=3)
    lines = web.post("/generate", json=wish).text.split("\n\n")
    pieces = [json.loads(line.removeprefix("data: "))["text"] for line in lines if line.startswith("data: ")]
    assert "".join(pieces) == whole
    assert "event: end" in lines[-2]
    assert web.post("/generate", json={"max_tokens": 10**9}).status_code == 400
    assert web.post("/generate", json={"temperature": "hot"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"rows": [{"area": 1.0, "town": "Bern", "rooms": 1, "color": "red"}]}, "there is no column 'color'"),
        ({"rows": [{"area": 1.0, "town": "Bern"}]}, "the column 'rooms' is missing"),
        ({"rows": []}, "not empty"),
        ({"rows": [1, 2]}, "must all be objects"),
        ({"rows": [[1.0, "Bern"]]}, "must have 3 values"),
        ({"texts": ["hello"]}, "must be an object with 'rows'"),
        ({"rows": [{"area": 1, "town": "Bern", "rooms": 1}], "proba": True}, "gives no probabilities"),
        ({"rows": [{"area": 1, "town": "Bern", "rooms": 1}], "proba": "yes"}, "true or false"),
    ],
)
def test_a_wrong_question_is_refused_in_one_sentence(regressor, body, words):
    answer = client(regressor[0]).post("/predict", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]
    assert "Traceback" not in answer.text


def test_bodies_that_are_no_json_too_long_or_too_many(regressor):
    web = client(regressor[0], limits=RequestLimits(bytes=2000, rows=3))
    head = {"content-type": "application/json"}
    assert "JSON" in web.post("/predict", content=b"{", headers=head).json()["error"]
    assert "JSON" in web.post("/predict", content=b'{"rows": [[NaN, "Bern", 1]]}', headers=head).json()["error"]
    assert web.post("/predict", content=b" " * 3000, headers=head).status_code == 413
    row = {"area": 1, "town": "Bern", "rooms": 1}
    assert "at most 3 at once" in web.post("/predict", json={"rows": [row] * 4}).json()["error"]


def test_the_guard_asks_for_host_token_and_json(regressor):
    path, _ = regressor
    web = client(path, token="secret")
    assert web.get("/health").status_code == 401
    assert web.get("/health", headers={"authorization": "Bearer wrong"}).status_code == 401
    right = {"authorization": "Bearer secret"}
    assert web.get("/health", headers=right).json()["status"] == "ok"
    assert web.get("/health", headers=right | {"host": "evil.example"}).status_code == 421
    form = right | {"content-type": "application/x-www-form-urlencoded"}
    assert web.post("/predict", content=b"rows=1", headers=form).status_code == 415
    assert web.post("/predict", json={"rows": [1]}, headers=right | {"sec-fetch-site": "cross-site"}).status_code == 403
    named = client(path, hosts=("models.example:8766",))
    assert named.get("/health", headers={"host": "models.example:8766"}).status_code == 200


def test_questions_that_come_at_once_are_asked_together():
    calls = []

    def double(questions):
        calls.append(len(questions))
        return [2 * question for question in questions]

    async def ask():
        batcher = Batcher(double, batch_rows=50)
        answers = await asyncio.gather(*(batcher.ask([i, i + 1]) for i in range(40)))
        batcher.close()
        return answers

    answers = run_coroutine(ask())
    assert answers == [[2 * i, 2 * i + 2] for i in range(40)]
    assert sum(calls) == 80
    assert len(calls) < 10
    assert max(calls) <= 50


def test_a_bad_question_spoils_no_other():
    def halve(questions):
        if 0 in questions:
            raise ZeroDivisionError
        return [1 / question for question in questions]

    async def ask():
        batcher = Batcher(halve)
        answers = await asyncio.gather(*(batcher.ask([i]) for i in (4, 0, 2, 0, 1)), return_exceptions=True)
        batcher.close()
        return answers

    answers = run_coroutine(ask())
    assert [answer for answer in answers if isinstance(answer, list)] == [[0.25], [0.5], [1.0]]
    assert sum(isinstance(answer, ZeroDivisionError) for answer in answers) == 2


def test_who_cannot_wait_is_told():
    async def ask():
        batcher = Batcher(lambda questions: questions, waiting_rows=3)
        answers = await asyncio.gather(batcher.ask([1, 2]), batcher.ask([3, 4]), return_exceptions=True)
        batcher.close()
        return answers

    first, second = run_coroutine(ask())
    assert first == [1, 2]
    assert isinstance(second, TooBusy)


def test_questions_that_were_given_up_make_room_for_others():
    """Whoever no longer waits takes no place: a server that was slow for a while answers again."""
    busy = threading.Event()

    def wait(questions):
        assert busy.wait(60)
        return questions

    async def ask():
        batcher = Batcher(wait, batch_rows=2, waiting_rows=10)
        first = asyncio.create_task(batcher.ask([0]))
        await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(batcher.ask([1, 2]), 0)
            impatient = asyncio.create_task(batcher.ask([1, 2]))
            await asyncio.sleep(0)
            impatient.cancel()
        busy.set()
        assert await first == [0]
        answer = await batcher.ask(list(range(10)))
        batcher.close()
        return answer

    assert run_coroutine(ask()) == list(range(10))


def test_two_hundred_clients_at_once_get_their_own_answers(classifier):
    import httpx

    path, model = classifier
    X, _ = load_iris(return_X_y=True)
    app = create_server(ServedModel(path), port=PORT)

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as web:
            return await asyncio.gather(
                *(web.post("/predict", json={"rows": X[i % 150 : i % 150 + 1].tolist()}) for i in range(200))
            )

    answers = run_coroutine(ask())
    expected = model.predict(X)
    assert [answer.json()["predictions"][0] for answer in answers] == [int(expected[i % 150]) for i in range(200)]


def test_an_open_address_needs_a_token(regressor):
    from margin.service.requests import BadRequest
    from margin.serving.running import serve_model

    with pytest.raises(BadRequest, match="needs a --token"):
        serve_model(regressor[0], address="0.0.0.0", port=1, token="", hosts=(), say=print)
