"""A stream of binary examples, and a model that has learned a little of it."""

import asyncio

import httpx
import numpy as np
import pytest

from hutch.chain import Chain

CHAIN = {"chain": [{"active": {"budget": 0.2}}, {"linear": {"loss": "logistic", "normalized": False}}]}


def make_lines(n, seed, words=30):
    random = np.random.default_rng(seed)
    weights = np.random.default_rng(0).normal(size=words)
    lines = []
    for _ in range(n):
        chosen = random.choice(words, 6, replace=False)
        label = 1 if weights[chosen].sum() > 0 else -1
        lines.append(f"{label} |f " + " ".join(f"w{j}" for j in chosen))
    return lines


@pytest.fixture
def lines():
    return make_lines


@pytest.fixture
def trained():
    """Makes a chain that has learned 30 labels, the same every time."""

    def make(active=None, linear=None):
        layers = [{"active": active or {"budget": 0.2}}, {"linear": linear or CHAIN["chain"][1]["linear"]}]
        chain = Chain.from_config({"chain": layers})
        chain.layers[0].simulation = False
        chain.learn(make_lines(30, 1))
        chain.layers[0].simulation = True
        return chain

    return make


class Client:
    """Calls an application without a network, below its secret address."""

    def __init__(self, app):
        self.app = app

    def request(self, method, path, **options):
        async def send():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/secret/") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture
def client_of():
    """Makes a client of an application whose token is `secret`."""
    return Client
