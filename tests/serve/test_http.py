"""The HTTP interface: predictions and learning as the chain's own, refusals with their place."""

import asyncio
import json
import pickle
import random
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hutch import Chain
from hutch.core.errors import DataError, StoreError
from hutch.core.run.prediction_intervals import Intervals
from hutch.durable.records import check_name
from hutch.net.limits import Limits
from hutch.serve.bodies import NoMemory, batches_of, check_labels
from tests.reliability.failing import failing

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
RECORD = {"label": 1, "f": {"a": 1, "b": 0.5}}
MANY = "".join(f"{1 - 2 * (k % 2)} |f a{k % 7}:{k % 5 + 1} b\n" for k in range(3000))


def arrow(columns: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


BODIES: list[tuple[Any, str, Any]] = [
    ("1 |f a b:0.5", "text/plain", "1 |f a b:0.5"),
    (MANY, "text/plain; charset=utf-8", MANY),
    (json.dumps(RECORD), JSON, [RECORD]),
    (json.dumps([RECORD] * 600), JSON, [RECORD] * 600),
    (arrow({"label": [1.0, -1.0], "a": [0.5, 2.0]}), ARROW, pa.table({"label": [1.0, -1.0], "a": [0.5, 2.0]})),
]
IDS = ["line", "lines", "record", "records", "arrow"]


@pytest.mark.parametrize(("body", "kind", "examples"), BODIES, ids=IDS)
def test_predict_and_learn_as_the_chain_does(model: Path, body: Any, kind: str, examples: Any, in_service: Any) -> None:
    twin = Chain.load(model)

    async def use(service: Any) -> None:
        for path in ("predict", "learn", "predict"):
            answer = await service.post(f"/v1/{path}", body, kind)
            assert answer.status_code == 200, answer.text
            wanted = (twin.learn if path == "learn" else twin.predict)(examples)
            np.testing.assert_array_equal(np.float32(answer.json()["predictions"]), wanted)
            assert answer.json()["model"] == "model"
        same(service.first.chain, twin)

    in_service([model], use)


def same(one: Chain, other: Chain) -> None:
    theirs = other.arrays()
    for name, array in one.arrays().items():
        if name != "shared.testing":
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def test_classes_are_answered_by_the_names_that_the_data_gives_them(tmp_path: Path, in_service: Any) -> None:
    columns = {"label": "label", "text": ["text"], "classes": ["billing", "login"]}
    chain = Chain.from_config(
        {
            "input": {"columns": columns},
            "chain": [{"one_against_all": {"classes": 2}}, {"linear": {"loss": "logistic"}}],
        }
    )
    chain.save(tmp_path / "triage")

    async def use(service: Any) -> None:
        for text, label in [("pay twice", "billing"), ("password locked", "login")] * 10:
            body = json.dumps({"text": text, "label": label})
            answer = await service.post("/v1/learn", body, JSON)
        assert answer.json()["predictions"] == ["login"]
        body = json.dumps([{"text": "pay twice"}, {"text": "password locked"}])
        assert (await service.post("/v1/predict", body, JSON)).json()["predictions"] == ["billing", "login"]

    in_service([tmp_path / "triage"], use)


REFUSED: list[tuple[str, Any, str, int, str]] = [
    ("learn", "1 |f a:1y b", "text/plain", 422, "<body>:1:9: bad feature value"),
    ("learn", "1 |f a\n1 |f b\n1 |f a:1y", "text/plain", 422, "<body>:3:9: bad feature value"),
    ("predict", "|f a:1y b", "text/plain", 422, "<body>:1:7: bad feature value"),
    ("learn", "1 |f a\n|f b", "text/plain", 422, "<body>:2:1: got no label"),
    ("learn", "|f b", "text/plain", 422, "<body>:1:1: got no label"),
    ("learn", "5 |f b", "text/plain", 422, "got label 5, which this chain is not made for"),
    ("learn", "", "text/plain", 422, "got no example"),
    ("learn", '{"label": 1, "f": {"a": 1}', JSON, 422, "<body>:1:27: not JSON"),
    ("learn", '{"label": 1, "f": {"a": NaN}}', JSON, 422, "got NaN, wanted JSON"),
    ("learn", '{"label": 1, "f": {"a": 1, "a": 2}}', JSON, 422, "got the key 'a' twice"),
    ("learn", '{"label": "x", "f": {"a": 1}}', JSON, 422, "<body>:1: label: got 'x', wanted a number"),
    ("learn", '[{"label": 1, "f": "a"}, {"label": 1, "f": {"a": [1]}}]', JSON, 422, "<body>:2: f.a: got list"),
    ("learn", "7", JSON, 422, "wanted a record or a list of records"),
    ("learn", "[" * 100_000, JSON, 422, "nested too deeply"),
    ("learn", "1" * 5000, JSON, 422, "an integer of thousands of digits"),
    ("learn", b"\xff\xfe{}", JSON, 422, "not "),
    ("learn", b"no arrow", ARROW, 422, "not an Arrow stream"),
    ("learn", "1 |f a", "text/csv", 415, "content-type: got 'text/csv'"),
    ("learn", "1 |f a", "text/plain; charset=utf-16", 415, "got charset 'utf-16', wanted utf-8"),
    ("learn", b"1 |f a\n1 |f b\xff", "text/plain", 422, "<body>:2:7: not UTF-8"),
    ("learn", "1 |f a".encode("utf-16"), "text/plain", 422, "<body>:1:1: not UTF-8"),
    ("predict", '{"examples": ["|f x0:1"]}', JSON, 422, "got an object with the list 'examples', wanted a record"),
    ("predict", '{"instances": [{"f": "a"}]}', JSON, 422, "got an object with the list 'instances', wanted a record"),
    ("predict", '{"mine": ["good", "|f x0:1"]}', JSON, 422, "got an object with the list 'mine', wanted a record"),
    ("learn?model=other", "1 |f a", "text/plain", 404, "there is no 'other'; did you mean|valid: model"),
    ("learn?modle=other", "1 |f a", "text/plain", 400, "unknown query parameter 'modle'; did you mean 'model'?"),
    ("learn?model=model&model=model", "1 |f a", "text/plain", 400, "got the query parameter 'model' twice"),
    ("learn?model=%ff", "1 |f a", "text/plain", 400, "the query of the address is malformed"),
    ("labels?model=model", "{}", JSON, 400, "unknown query parameter 'model'; wanted none"),
    ("learn?scores=1", "1 |f a", "text/plain", 400, "scores: got '1', wanted true or false"),
    ("learn?scores=true", "1 |f a", "text/plain", 422, "scores: the top layer of 'model' has none"),
    ("predict?scores=true", "|f a", "text/plain", 422, "scores: the top layer of 'model' has none"),
    ("labels", '{"id": "7", "worker": "ada", "label": 1}', JSON, 422, "there is no request '7'"),
    ("labels", '{"id": "7", "worker": ["ada"], "label": 1}', JSON, 422, "worker: got"),
    ("labels", '{"id": "7"}', JSON, 422, "'worker' is missing"),
    ("labels", '{"id": "7", "worker": "ada", "label": ' + "9" * 5000 + "}", JSON, 422, "thousands of digits"),
    ("labels", '{"id": "\\ud800", "worker": "ada", "label": 1}', JSON, 422, "half a surrogate pair"),
    ("labels", "[" * 900 + "]" * 900, JSON, 422, "got "),
]


@pytest.mark.parametrize(("path", "body", "kind", "status", "message"), REFUSED)
def test_what_is_refused_changes_nothing(
    model: Path, path: str, body: Any, kind: str, status: int, message: str, in_service: Any
) -> None:
    twin = Chain.load(model)

    async def use(service: Any) -> None:
        answer = await service.post(f"/v1/{path}", body, kind)
        assert answer.status_code == status, answer.text
        assert any(part in answer.json()["error"] for part in message.split("|")), answer.text
        assert service.first.position == 0 and not service.log.last()
        same(service.first.chain, twin)

    in_service([model], use)


@pytest.mark.parametrize("kind", ["text", "json", "arrow"])
def test_more_examples_than_a_request_may_have(kind: str) -> None:
    chain, most = Chain.from_config({"weights": {"bits": 8}, "chain": ["linear"]}), 100
    nulls = pa.table({"a": pa.nulls(10_000_000)})  # no bytes at all
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, nulls.schema) as writer:
        writer.write_table(nulls)
    bodies = {
        "text": ("text/plain", b"|a\n" * 101),
        "json": ("application/json", b"[" + b"{}," * 101 + b"{}]"),
        "arrow": (ARROW, sink.getvalue().to_pybytes()),
    }
    with pytest.raises(NoMemory, match="wanted at most 100 in a request; send several"):
        batches_of(chain, *bodies[kind], most)


def damaged_arrow(count: int) -> list[bytes]:
    """Bodies with some bits or bytes changed, and the one that once ended a server, where it is at hand."""
    columns = {"label": [1.0, -1.0] * 20, "a": [f"word {k}" * 3 for k in range(40)]}
    good, dice = arrow(columns), random.Random(3)
    killer = Path(__file__).parents[3] / "shared" / "attack" / "arrow_two_bits.bin"
    found = [killer.read_bytes()] if killer.exists() else []
    for _ in range(count):
        body = bytearray(good)
        for _ in range(dice.choice([1, 2, 4])):
            body[dice.randrange(len(body))] ^= 1 << dice.randrange(8)
        found.append(bytes(body))
    return found


READ = """
import pickle, sys
from hutch import Chain
from hutch.core.errors import DataError, StoreError
from hutch.serve.bodies import ARROW, batches_of
chain, refused = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}), 0
for body in pickle.load(sys.stdin.buffer):
    try:
        batches_of(chain, ARROW, body)
    except DataError:
        refused += 1
print(refused)
"""


@pytest.mark.slow
def test_a_damaged_arrow_body_ends_no_server() -> None:
    bodies = damaged_arrow(300)
    done = subprocess.run([sys.executable, "-c", READ], input=pickle.dumps(bodies), capture_output=True, timeout=120)
    assert done.returncode == 0, done
    assert 20 < int(done.stdout) < 301


def test_places_of_later_parts_of_a_body_count_from_its_start(model: Path) -> None:
    chain = Chain.load(model)
    parts = [*chain.batches(["1 |f a"] * 3), *chain.batches(["1 |f a", "|f b"])]
    with pytest.raises(DataError, match=r"<body>:5:1: got no label"):
        check_labels(chain, parts)


@pytest.mark.parametrize(("length", "good"), [(200, True), (201, False)])
def test_ids_have_up_to_200_characters(length: int, good: bool) -> None:
    with nullcontext() if good else pytest.raises(DataError, match="got 201 characters, wanted at most 200"):
        assert check_name("x" * length, "id") == "x" * length


def test_ids_make_a_request_count_once(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        first = await service.post("/v1/learn", "1 |f a", **{"idempotency-key": "x"})
        await service.post("/v1/learn", "1 |f b")
        again = await service.post("/v1/learn", "1 |f a", **{"idempotency-key": "x"})
        assert first.json()["position"] == again.json()["position"] == 1
        assert again.json()["repeated"] and "repeated" not in first.json()
        other = await service.post("/v1/learn", "1 |f c", **{"idempotency-key": "x"})
        assert other.status_code == 409 and "got 'x' with another body" in other.json()["error"]
        long = await service.post("/v1/learn", "1 |f c", **{"idempotency-key": "x" * 201})
        assert long.status_code == 400
        assert service.first.chain.statistics.examples == 15 + 2

    in_service([model], use)


def test_the_operator_hears_of_a_value_far_outside_those_learned(
    tmp_path: Path, in_service: Any, saved_model: Any
) -> None:
    row = {
        "namespace": "f",
        "dimension": 2,
        "features": "named",
        "covariance": "moments",
        "loss": "squared",
        "extrapolation": 3,
    }
    lines = [f"{k % 5} |f a:{k % 7}" for k in range(60)]
    model = saved_model(tmp_path / "m", {"chain": [{"bayesian_linear": row}]}, lines)

    async def use(service: Any) -> None:
        for far, body in ((False, "|f a:8"), (True, "|f a:9000"), (False, "|f a:7000")):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                await service.post("/v1/predict", body)
            assert [str(each.message).partition(",")[0] for each in told] == (
                ["bayesian_linear.extrapolation: got 1 value far outside those learned"] * far
            )

    in_service([model], use)


def test_intervals(tmp_path: Path, in_service: Any, saved_model: Any) -> None:
    row = {"loss": "squared", "covariance": "moments", "features": "named", "dimension": 4, "namespace": "f"}
    lines = [f"{k % 5 + k % 3} |f a:{k % 5} b:{k % 7}" for k in range(90)]
    numbers = saved_model(tmp_path / "numbers", {"chain": [{"bayesian_linear": row}]}, lines)
    other = saved_model(tmp_path / "other", {"chain": ["linear"]}, lines)
    twin = Chain.load(numbers)

    async def use(service: Any) -> None:
        found = (await service.post("/v1/predict?interval=0.9", "\n".join(lines[:5]))).json()
        [batch] = twin.batches(lines[:5])
        wanted = Intervals(twin, 0.9).ends(batch, twin.run_apart(batch, False))
        np.testing.assert_allclose(found["intervals"], wanted)
        assert "intervals" not in (await service.post("/v1/predict", lines[0])).json()
        for query, text in (
            ("interval=9", "interval: got 9, wanted a number between 0 and 1"),
            ("interval=wide", "interval: got 'wide', wanted a number"),
            ("interval=0.9&model=other", "interval: this chain keeps no moments"),
        ):
            answer = await service.post(f"/v1/predict?{query}", lines[0])
            assert answer.status_code == 422 and text in answer.text

    in_service([numbers, other], use)


def test_several_models(model: Path, tmp_path: Path, in_service: Any, saved_model: Any) -> None:
    config = {"chain": [{"one_against_all": {"classes": 3}}, {"linear": {"loss": "logistic"}}]}
    classes = saved_model(tmp_path / "classes", config, ["1 |f a", "2 |f b", "3 |f c"] * 5)

    async def use(service: Any) -> None:
        found = (await service.post("/v1/predict?model=classes&scores=true", "|f b")).json()
        assert found["predictions"] == [2] and len(found["scores"][0]) == 3
        assert (await service.client.get("/v1/model")).json()["models"] == ["model", "classes"]
        about = (await service.client.get("/v1/model?model=classes")).json()
        assert about["predictions"] == "class" and about["counters"]["examples"] == 15

    in_service([model, classes], use)


@pytest.mark.parametrize(("body", "kind"), [("|f a\n|f b", "text/plain"), ("[{}, {}]", JSON)])
def test_whichever_allocation_of_a_prediction_fails_it_is_503_and_the_next_is_as_ever(
    model: Path, body: str, kind: str, in_service: Any
) -> None:
    async def use(service: Any) -> None:
        async def ask() -> Any:
            return await service.post("/v1/predict", body, kind)

        wanted, before = (await ask()).json(), service.first.chain.weights.tobytes()
        for nth in range(1, 100):
            with failing(nth, memory=True) as allocations:
                found = await ask()
            assert (found.status_code, "memory" in found.text) == ((503, True) if allocations.failed else (200, False))
            assert (await ask()).json() == wanted
            if not allocations.failed:
                break
        assert 1 < nth < 99 and service.first.chain.weights.tobytes() == before and not service.first.failure

    in_service([model], use)


def test_saved_and_served_again(model: Path, in_service: Any) -> None:
    twin = Chain.load(model)
    lines = [f"1 |f a{k}" for k in range(20)]
    twin.learn(lines)

    async def first(service: Any) -> None:
        for line in lines[:10]:
            await service.post("/v1/learn", line)
        assert await service.first.save()
        for line in lines[10:15]:
            await service.post("/v1/learn", line)

    async def second(service: Any) -> None:  # the last five were in the log only
        assert service.first.position == 15 and service.first.saved == 10
        await service.post("/v1/learn", "\n".join(lines[15:]))
        same(service.first.chain, twin)

    in_service([model], first)
    in_service([model], second)


def test_another_model_does_not_take_over_a_log(model: Path, in_service: Any, saved_model: Any) -> None:
    async def learn(service: Any) -> None:
        await service.post("/v1/learn", "1 |f a")

    async def other(service: Any) -> None:  # it begins a log of its own
        assert service.first.chain.statistics.examples == 1 and service.first.position == 1
        assert "repeated" not in (await service.post("/v1/learn", "1 |f a")).json()

    async def back(service: Any) -> None:
        assert service.first.chain.statistics.examples == 15 + 1

    in_service([model], learn)
    first = model.read_bytes()
    saved_model(model, lines=["1 |f other"])
    with pytest.raises(StoreError, match="has 1 entry of another model that was served as 'model', and is not saved"):
        in_service([model], other)
    in_service([model], other, accept_loss=True)
    model.write_bytes(first)
    in_service([model], back)


def test_predictions_do_not_wait_for_a_save(model: Path, monkeypatch: pytest.MonkeyPatch, in_service: Any) -> None:
    import threading

    from hutch.durable import model_file

    begun, go_on = threading.Event(), threading.Event()
    real = model_file.save_model

    def slow(*arguments: Any, **named: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        real(*arguments, **named)

    async def use(service: Any) -> None:
        monkeypatch.setattr(model_file, "save_model", slow)
        await service.post("/v1/learn", "1 |f a")
        saving = asyncio.create_task(service.first.save())
        await asyncio.to_thread(begun.wait, 30)
        assert (await service.post("/v1/predict", "|f a")).status_code == 200
        assert (await service.post("/v1/learn", "1 |f b")).json()["position"] == 2
        go_on.set()
        assert await saving
        assert service.first.saved == 1

    in_service([model], use)
    assert Chain.load(model).statistics.examples == 16


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example"}, 400),
        ({"host": "localhost:8080"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"content-encoding": "gzip"}, 415),
        ({"content-encoding": "identity"}, 200),
        ({"content-length": "-3"}, 400),
        ({"content-length": "99999999999"}, 413),
    ],
)
def test_foreign_pages_teach_nothing(model: Path, headers: dict[str, str], status: int, in_service: Any) -> None:
    async def use(service: Any) -> None:
        answer = await service.post("/v1/learn", "1 |f a", **headers)
        assert answer.status_code == status
        assert service.first.position == (1 if status == 200 else 0)

    in_service([model], use)


def test_a_token(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        assert (await service.post("/v1/predict", "|f a")).status_code == 401
        assert (await service.post("/v1/predict", "|f a", authorization="Bearer wrong")).status_code == 401
        for scheme in ("Bearer", "bearer", "BEARER "):
            assert (await service.post("/v1/predict", "|f a", authorization=f"{scheme} right")).status_code == 200
        for wrong in ("Basic right", "right", "Bearer right left", "Bearer "):
            assert (await service.post("/v1/predict", "|f a", authorization=wrong)).status_code == 401
        assert (await service.client.get("/metrics")).status_code == 401
        assert (await service.client.get("/healthz")).status_code == 200

    in_service([model], use, token="right", host="0.0.0.0")


def test_bodies_are_bounded_in_size_and_time(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        async def pieces(pause: float) -> Any:
            for _ in range(20):
                yield b"1 |f a\n"
                await asyncio.sleep(pause)

        for pause, status in ((0.0, 413), (0.1, 408)):
            answer = await service.client.post(
                "/v1/learn", content=pieces(pause), headers={"content-type": "text/plain"}
            )
            assert answer.status_code == status
        assert service.first.position == 0

    in_service([model], use, limits=Limits(body=100, body_seconds=0.3))


def test_figures_and_documentation(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        await service.post("/v1/learn", MANY)
        await service.post("/v1/learn", "x y z")
        figures = (await service.client.get("/metrics")).text
        for wanted in (
            'http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",'
            'http_route="/v1/learn"} 1.0',
            'http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="422",'
            'http_route="/v1/learn"} 1.0',
            'hutch_examples_total{model="model"} 3015.0',
            'hutch_log_entries_to_save{model="model"} 1.0',
        ):
            assert wanted in figures, figures
        recent, progressive, drift = (
            float(figures.partition(f'hutch_{name}{{model="model"}} ')[2].split()[0])
            for name in ("recent_loss", "progressive_loss", "drift")
        )
        assert 0 < recent < 2 and drift == recent - progressive != 0
        described = (await service.client.get("/openapi.json")).json()
        assert {"/v1/predict", "/v1/learn", "/healthz"} < described["paths"].keys()
        assert (await service.client.get("/nowhere")).status_code == 404
        assert (await service.client.get("/v1/learn")).status_code == 405
        service.handlers.stopping = True
        assert (await service.client.get("/healthz")).status_code == 503

    in_service([model], use)


def test_every_route_is_described(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        described = (await service.client.get("/openapi.json")).json()
        for path, operations in described["paths"].items():
            for method in operations:
                answer = await service.client.request(method.upper(), path.replace("{version}", "v1.0"))
                known = "there is no decision" in answer.text  # its address is right
                assert answer.status_code not in (404, 405) or known, path

    in_service([model], use)


def test_one_server_per_log(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        from hutch.durable.log import Log

        with pytest.raises(StoreError, match="another server is using it"):
            Log(service.log.store.path)
        assert service.log.store.path.stat().st_mode & 0o777 == 0o600

    in_service([model], use)
