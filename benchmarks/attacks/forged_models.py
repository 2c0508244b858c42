"""Models whose checksum is right and whose content is not: loaded, predicted with, learned on and saved.

Each mutation changes numbers, types, shapes, names or JSON of a sound model and makes its checksum right again, as a
hostile author would; a tenth are cut or flipped instead. They run in forked processes under limits of time and memory.
A finding is a death by a signal, no end in time, more memory than twice what the sound model's arrays take beside what
the process had, or an exception that is no HutchError.
"""

import json
import os
import random
import resource
import signal
import struct
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from hutch.chain import Chain
from hutch.core.errors import HutchError
from hutch.crowd import aggregate as crowd
from hutch.crowd.data.labels import from_triples
from hutch.crowd.table import BUILT_IN
from hutch.em import fit as em
from hutch.plugins.manager import installed

SECONDS, SLACK = 20, 600 << 20  # for one model; what an interpreter and a compiler take beside it
_BATCH = 200

Arrays = dict[str, NDArray[Any]]
Use = Callable[[Path], None]

PLAIN = [f"{1 if i % 3 else -1} 't{i} |w a{i % 5} b{i % 7}:0.5 |u r{i % 4}" for i in range(30)]
CLASSES = [f"{1 + i % 3} |w a{i % 5} b{i % 7} |u r{i % 4}" for i in range(30)]
COSTS = [f"1:{i % 3} 2:{(i + 1) % 3} 3:0.5 |w a{i % 5} |u r{i % 4}" for i in range(30)]
BLOCKS = [line for i in range(10) for line in (*(f"{1 + (i + j) % 3} |w a{i % 5} |u r{j}" for j in range(3)), "")]
DECISIONS = [line for i in range(10) for line in (f"0:{i % 3}:0.5 |w a{i % 5}", f"|w b{i % 3}", f"|w c{i % 2}", "")]
ACTIONS = [line for i in range(10) for line in (f"0:{i % 3} |w a{i % 5}", f"1:{i % 2} |w b{i % 3}", "")]
LOGGED = [f"{1 + i % 3}:{i % 2}:0.5 |w a{i % 5}" for i in range(20)]
NUMBERS = [f"{1 if i % 2 else -1} |w a:{i % 3 + 0.1} b:{i % 5 - 1.0} c:{i % 7} |u r{i % 4}" for i in range(30)]

_ROW: dict[str, Any] = {
    "namespace": "w", "dimension": 8, "rank": 2, "features": "hashed", "block": 4, "warm_up": 6
}  # fmt: skip
_PPCA, _PLAIN = {"ppca": _ROW}, {**_ROW, "mode": "plain"}
_ADF: list[Any] = [{"contextual_bandit": {}}, "cost_sensitive_with_features", "linear"]
_EXPLORERS: dict[str, dict[str, int]] = {
    **dict.fromkeys(("epsilon", "softmax", "synthetic_cover", "squarecb", "regcb"), {}),
    **{"first": {"decisions": 4}, "rnd": {"models": 2}},
}
_OAA: list[Any] = [{"one_against_all": {"classes": 3}}, "linear"]
_CROWD = {"classes": 3, "worker": "u", "slots": 4}
_ACTIVE = {"active": {"budget": 0.5, "memory": 0.01}}
_PAIRS = [{"namespaces": ["w", "u"], "rank": 2}]
_DYADIC = {"left": "w", "right": "u", "rank": 2}
CHAINS: dict[str, tuple[list[Any], list[str]]] = {
    "linear": ([{"linear": {"loss": "logistic", "interactions": [["w", "u"]]}}], PLAIN),
    "ftrl_proximal": (["ftrl_proximal"], PLAIN),
    "pistol": (["pistol"], PLAIN),
    "coin_betting": (["coin_betting"], PLAIN),
    "active": ([_ACTIVE, {"linear": {"loss": "logistic"}}], PLAIN),
    "active iwal": ([{"active": {"rule": "iwal", "mellowness": 1.0}}, "linear"], PLAIN),
    "active over trees": ([_ACTIVE, {"filter_tree": {"classes": 3}}, "linear"], CLASSES),
    "dyadic": ([{"dyadic": _DYADIC}], PLAIN),
    "dyadic decay": ([{"dyadic": {**_DYADIC, "decay": 0.01, "rates": "power"}}], PLAIN),
    "dyadic implicit": ([{"dyadic": {**_DYADIC, "implicit": "right"}}], PLAIN),
    "filter_tree": ([{"filter_tree": {"classes": 3}}, {"dyadic": {**_DYADIC, "loss": "hinge"}}], CLASSES),
    "scoring_filter_tree": ([{"scoring_filter_tree": {"classes": 3}}, {"linear": {"loss": "hinge"}}], CLASSES),
    "error_correcting_tournament": ([{"error_correcting_tournament": {"classes": 3, "errors": 1}}, "linear"], CLASSES),
    "one_against_all": ([{"one_against_all": {"classes": 3}}, "linear"], CLASSES),
    "cost_sensitive_one_against_all": ([{"cost_sensitive_one_against_all": {"classes": 3}}, "linear"], COSTS),
    "cost_sensitive_filter_tree": ([{"cost_sensitive_filter_tree": {"classes": 3}}, "linear"], COSTS),
    "low_rank_quadratic": ([{"low_rank_quadratic": {"pairs": _PAIRS}}, "linear"], PLAIN),
    "ngrams": ([{"ngrams": {"size": 2}}, "linear"], PLAIN),
    "link": ([{"link": {"function": "logistic"}}, "binary", "linear"], PLAIN),
    "ppca": ([_PPCA, "linear"], NUMBERS),
    "ppca class": ([{"ppca": {**_ROW, "mode": "class", "boundary": "label"}}, "linear"], NUMBERS),
    "ppca drift": ([{"ppca": {**_ROW, "mode": "class", "boundary": "drift"}}, "linear"], NUMBERS),
    "ppca plain": ([{"nat_oem": {"mode": "step"}}, {"ppca": _PLAIN}, "linear"], NUMBERS),
    "nat_oem": ([{"nat_oem": {"boundary": "label"}}, _PPCA, "linear"], NUMBERS),
    "crowd_em": ([{"crowd_em": _CROWD}, *_OAA], BLOCKS),
    "crowd_em passes": ([{"crowd_em": {**_CROWD, "passes": 2}}, *_OAA], BLOCKS),
    "crowd_em anchored": ([{"nat_oem": {"boundary": "drift"}}, {"crowd_em": _CROWD}, *_OAA], BLOCKS),
    "contextual_bandit": (_ADF, DECISIONS),
    "cost_sensitive_with_features": (["cost_sensitive_with_features", "linear"], ACTIONS),
    "explore_bag": ([{"explore_bag": {"policies": 2}}, *_ADF], DECISIONS),
    "explore_cover": ([{"explore_cover": {"policies": 2}}, *_ADF], DECISIONS),
    "simulate_bandit": ([{"simulate_bandit": {"classes": 3}}, {"explore_epsilon": {}}, *_ADF], CLASSES),
    "action_per_class": ([{"action_per_class": {"classes": 3}}, {"explore_epsilon": {}}, *_ADF], LOGGED),
    **{f"explore_{name}": ([{f"explore_{name}": given}, *_ADF], DECISIONS) for name, given in _EXPLORERS.items()},
}  # fmt: skip
"""Every shipped layer, in a chain that learns, and its examples."""


def _use_chain(lines: list[str]) -> Use:
    def use(path: Path) -> None:
        chain = Chain.load(path)
        chain.predict(lines)
        chain.learn(lines, passes=2)
        chain.predict(lines)
        chain.save(path)

    return use


def _chains(folder: Path) -> dict[str, tuple[bytes, Use]]:
    found = {}
    for name, (layers, lines) in CHAINS.items():
        chain = Chain.from_config({"weights": {"bits": 6}, "chain": layers})
        chain.learn(lines)
        if "passes" in name or "implicit" in name:
            chain.learn(lines, passes=2)
        chain.save(folder / "sound")
        found[name] = (folder / "sound").read_bytes(), _use_chain(lines)
        found[name][1](folder / "sound")
    return found


def _crowds(folder: Path) -> dict[str, tuple[bytes, Use]]:
    votes = [(f"v{j}", f"t{i}", "abc"[(i + (j == i % 4)) % 3]) for i in range(12) for j in range(4)]
    labels = from_triples(votes)

    def of(model: type[Any], options: crowd.Options, given: dict[str, Any]) -> tuple[bytes, Use]:
        path = folder / "sound"
        crowd.save(str(path), model(**given), options, crowd.aggregate(labels, model(**given), options).fit.state)

        def use(path: Path) -> None:
            metadata, state = crowd.load(str(path))
            models = {each.name: each for each in BUILT_IN}
            if metadata["model"] not in models or metadata["method"] not in ("batch", "online"):
                return  # `hutch crowd` names the nearest valid name
            again = models[metadata["model"]](**metadata["parameters"])
            chosen = crowd.Options(metadata["method"], slots=int(metadata["slots"]))
            more = from_triples(votes, state.classes, state.worker_names)
            found = crowd.aggregate(more, again, chosen, state)
            crowd.save(str(path), again, chosen, found.fit.state)

        return path.read_bytes(), use

    found = {f"crowd {m.name}": of(m, crowd.Options(), _given(m)) for m in BUILT_IN}
    streams = [m for m in BUILT_IN if m.name in ("two_level", "nominal")]
    return found | {f"crowd {m.name} online": of(m, crowd.Options("online", slots=8), {}) for m in streams}


def _given(model: type[Any]) -> dict[str, Any]:
    return {"reference": ("v0",)} if model.name == "mixed" else {}


def _ems(folder: Path) -> dict[str, tuple[bytes, Use]]:
    entries, rows = installed().registry.em_models, np.random.default_rng(0).normal(size=(40, 4))
    path, found = folder / "sound", {}
    for regularizer in ("exact", "nat_oem", "none"):
        for mode in (None, "class") if regularizer != "none" else (None,):
            settings = em.Settings(rank=2, regularizer=regularizer, mode=mode)
            learner = em.create(settings, rows[:10], entries["ppca"])
            learner.learn(rows)
            em.save(path, learner, settings, {})

            def use(path: Path) -> None:
                learner, settings = em.load(path, entries)
                learner.learn(rows)
                em.save(path, learner, settings, {})

            found[f"em {regularizer} {mode or 'step'}"] = path.read_bytes(), use
    return found


def parsed(content: bytes) -> tuple[Arrays, dict[str, str]]:
    """The arrays and the header's metadata of a safetensors file."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    metadata, body = header.pop("__metadata__"), content[8 + size :]
    kinds = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8", "U32": "<u4", "U8": "u1", "BOOL": "?"}
    arrays = {}
    for name, told in header.items():
        first, last = told["data_offsets"]
        arrays[name] = np.frombuffer(body[first:last], kinds[told["dtype"]]).reshape(told["shape"]).copy()
    return arrays, metadata


def sealed(arrays: Arrays, metadata: dict[str, str]) -> bytes:
    """The file that holds these arrays, its checksum right."""
    metadata = {**metadata, "names": json.dumps(sorted(arrays))}
    total = zlib.crc32((metadata.get("sparse", "") + metadata.get("metadata", "")).encode())
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data, total)
    return save({name: np.ascontiguousarray(a) for name, a in arrays.items()}, {**metadata, "crc32": f"{total:08x}"})


_WHOLE = [0, 1, -1, 2, 3, 7, 255, *(1 << k for k in (6, 16, 31, 32, 40, 62, 63)), 65, (1 << 63) - 1, (1 << 64) - 1]
_REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e-30, -1e-9, 1e15, 1e38, 1e300, -1e300, np.inf, -np.inf, np.nan]
_JSON = [None, True, -1, 0, 2, 31, 61, 10**30, 1e308, "", "x", "9" * 5000, "\ud800", "/etc/passwd"]
_JSON += [[], {}, [[]], [1] * 60, {"a": {"b": {}}}]


def _number(dtype: np.dtype[Any], near: Any, dice: random.Random) -> Any:
    if dtype.kind in "iu":
        value = dice.choice([*_WHOLE, int(near) + 1, int(near) - 1, int(near) * 2])
        return np.array([value % (1 << 8 * dtype.itemsize)], np.uint64).astype(f"u{dtype.itemsize}").view(dtype)[0]
    with np.errstate(all="ignore"):
        return np.array([dice.choice([*_REAL, float(near) * 2, -float(near)])]).astype(dtype)[0]


def _change_numbers(arrays: Arrays, name: str, dice: random.Random) -> str:
    flat = arrays[name].reshape(-1)
    if not flat.size:
        return f"{name}: empty"
    place = dice.randrange(flat.size)
    value = _number(flat.dtype, flat[place], dice)
    stop = dice.choice([place + 1] * 4 + [flat.size, place + 8])
    flat[place if stop > place + 1 else place : stop] = value
    return f"{name}[{place}:{stop}] = {value!r}"


def _change_kind(arrays: Arrays, name: str, dice: random.Random) -> str:
    array, what = arrays[name], dice.randrange(6)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what == 0:
            arrays[name] = array.astype(dice.choice(["<f8", "<i8", "u1", "<f4", "<u4", "<u8", "?"]))
        elif what == 1:
            arrays[name] = array.reshape(-1)[: array.size // 2]
        elif what == 2:
            arrays[name] = np.concatenate([array.reshape(-1)] * 2)
        elif what == 3:
            arrays[name] = array.reshape(1, -1) if dice.random() < 0.5 else array.reshape(-1)
        elif what == 4:
            del arrays[name]
        else:
            arrays[dice.choice([name + "x", "layer.0.x", "shared.weights", name.replace("#", ""), "a#rows"])] = array
    return f"{name}: other kind {what}"


def _change_json(text: str, dice: random.Random) -> tuple[str, str]:
    root = {"": json.loads(text)}
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])

    walk(root)
    node, key = dice.choice(places)
    new: Any = dice.choice([*_JSON, *([node[key] + 1, node[key] * 2] if type(node[key]) in (int, float) else [])])
    if isinstance(node, dict) and dice.random() < 0.15:
        del node[key]
    else:
        node[key] = new
    if "" not in root:
        return "", "nothing"
    made = "[" * 3000 + "]" * 3000 if dice.random() < 0.01 else json.dumps(root[""])
    return made, f"{key} = {str(new)[:30]}"


def mutated(content: bytes, dice: random.Random) -> tuple[bytes, str]:
    """A forged or damaged model, and what was done to it."""
    if dice.random() < 0.1:
        changed = bytearray(content)
        place = dice.randrange(len(changed))
        if dice.random() < 0.5:
            changed[place] ^= 1 << dice.randrange(8)
            return bytes(changed), f"damaged: a bit of byte {place}"
        return bytes(changed[:place]), f"damaged: cut at {place}"
    arrays, metadata = parsed(content)
    said = []
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        name = dice.choice(sorted(arrays) or ["weights"])
        what = dice.random()
        if name not in arrays:
            continue
        if what < 0.65:
            said.append(_change_numbers(arrays, name, dice))
        elif what < 0.75:
            said.append(_change_kind(arrays, name, dice))
        elif what < 0.88:
            metadata["metadata"], text = _change_json(metadata["metadata"] or "{}", dice)
            said.append(text)
        elif what < 0.95 and metadata["sparse"]:
            metadata["sparse"], text = _change_json(metadata["sparse"], dice)
            shapes = [[1 << 40, 4], [1 << 62], [-1], [2, 2], [], ["a"], [64, 3, 1 << 30], [64, 1], [1 << 20, 4]]
            if dice.random() < 0.5:
                metadata["sparse"], text = (
                    json.dumps({dice.choice([name.partition("#")[0], "weights"]): dice.choice(shapes)}),
                    "shape",
                )
            said.append("sparse: " + text)
        else:
            key = dice.choice(["format_version", "hutch_version", "kind", "sparse", "metadata", "format"])
            metadata[key] = dice.choice(["", "0", "2", "-1", "9" * 5000, "²", "[]", "{}", "null", "zz", "\0", "1e5"])
            said.append(f"header: {key} = {metadata[key][:12]!r}")
    return sealed(arrays, metadata), "forged: " + "; ".join(said)


def _case(models: dict[str, tuple[bytes, Use]], number: int, seed: int) -> tuple[str, bytes, str]:
    dice = random.Random(f"{seed}/{number}")
    name = sorted(models)[number % len(models)]
    for _ in range(20):
        try:
            changed, said = mutated(models[name][0], dice)
        except (ValueError, KeyError, TypeError, OverflowError, AttributeError, RecursionError):
            continue  # what cannot be written is no file
        if changed != models[name][0]:
            return name, changed, said
    return name, models[name][0][:-1], "damaged: cut"


def _child(models: dict[str, tuple[bytes, Use]], numbers: range, seed: int, path: Path, out: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    largest = max(sum(a.nbytes for a in parsed(content)[0].values()) for content, _ in models.values())
    resource.setrlimit(resource.RLIMIT_AS, (used + SLACK + 2 * largest,) * 2)
    for number in numbers:
        name, changed, _ = _case(models, number, seed)
        path.write_bytes(changed)
        os.write(out, f"{number}\n".encode())
        signal.alarm(SECONDS)
        try:
            models[name][1](path)
            outcome = "accepted"
        except HutchError as error:
            outcome = "refused" if str(error).strip() else "no message"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {str(error)[:150]}".replace("\n", " ")
        signal.alarm(0)
        os.write(out, f"={outcome}\n".encode())
    os._exit(0)


def run(count: int, seed: int, kinds: str = "chain,crowd,em") -> tuple[Counter[str], list[str]]:
    """Try so many models.

    Args:
        count: how many.
        seed: of the mutations.
        kinds: of models, of `chain`, `crowd` and `em`.

    Returns:
        How often what came of it, and the findings.
    """
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        makers = {"chain": _chains, "crowd": _crowds, "em": _ems}
        models = {name: made for kind in kinds.split(",") for name, made in makers[kind](Path(folder)).items()}
        done = 0
        while done < count:
            reader, writer = os.pipe()
            numbers = range(done, min(done + _BATCH, count))
            pid = os.fork()
            if not pid:
                os.close(reader)
                try:
                    _child(models, numbers, seed, Path(folder) / "forged", writer)
                finally:
                    os._exit(70)
            os.close(writer)
            with open(reader, "rb") as told:
                lines = told.read().decode(errors="replace").splitlines()
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            for begun, outcome in zip(
                lines[::2], [*lines[1::2], f"=ended by {status}"][: len(lines[::2])], strict=True
            ):
                done = int(begun) + 1
                name, _, said = _case(models, int(begun), seed)
                kind = said.partition(":")[0]
                counts[f"{kind}, {outcome[1:] if outcome in ('=refused', '=accepted') else 'FOUND'}"] += 1
                if outcome not in ("=refused", "=accepted"):
                    findings.append(f"seed {seed} number {begun}: {name}: {said}: {outcome[1:]}")
            if not lines:
                findings.append(f"a process ended by {status} before its first model")
                break
    return counts, findings


if __name__ == "__main__":
    import sys
    import time

    start = time.time()
    counts, findings = run(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
    print(json.dumps({"seconds": round(time.time() - start), "counts": counts, "findings": findings}, indent=1))
    sys.exit(bool(findings))
