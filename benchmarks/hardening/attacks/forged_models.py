"""Models whose checksum is right and whose content is not: loaded, predicted with, learned on and saved.

Each mutation changes numbers, types, shapes, names or JSON of a sound model and makes its checksum right again, as a
hostile author would; a tenth are cut or flipped instead. They run in forked processes under limits of time and memory.
A finding is a death by a signal, no end in time, an exception that is no HutchError, or that loading takes more than
twice the memory that loading the sound model takes: asked for, though never touched, or resident.
"""

import json
import random
import re
import struct
import tempfile
import tracemalloc
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import Found, in_forks, main
from numpy.typing import NDArray
from safetensors.numpy import save
from sound_chains import CHAINS

from hutch.chain import Chain
from hutch.core.errors import HutchError
from hutch.crowd import aggregate as crowd
from hutch.crowd.data.labels import from_triples
from hutch.crowd.table import BUILT_IN
from hutch.em import fit as em
from hutch.em.models import BUILT_IN as EM_MODELS

SLACK = 600 << 20  # bytes: what an interpreter and a compiler take beside a model

ROOM = 12 << 20
"""Bytes beside twice what loading the sound model takes: modules that are imported for the message of a refusal."""

Arrays = dict[str, NDArray[Any]]


class Model(NamedTuple):
    """A sound model.

    Attributes:
        content: of its file.
        load: given a path, loads a model of this kind.
        use: given the path and what was loaded, predicts, learns and saves.
    """

    content: bytes
    load: Callable[[Path], Any]
    use: Callable[[Path, Any], None]


def _use_chain(lines: list[str]) -> Callable[[Path, Any], None]:
    def use(path: Path, chain: Chain) -> None:
        chain.predict(lines)
        chain.learn(lines, passes=1 if any(layer.name == "active" for layer in chain.layers) else 2)
        chain.predict(lines)
        chain.save(path)

    return use


def _chains(folder: Path, chosen: Collection[str]) -> dict[str, Model]:
    found = {}
    for name, (layers, lines) in CHAINS.items():
        if chosen and name not in chosen:
            continue
        chain = Chain.from_config({"weights": {"bits": 6}, "chain": layers})
        chain.learn(lines)
        if "passes" in name:
            chain.learn(lines, passes=2)
        chain.save(folder / "sound")
        found[name] = Model((folder / "sound").read_bytes(), Chain.load, _use_chain(lines))
    return found


def _crowds(folder: Path, chosen: Collection[str]) -> dict[str, Model]:
    votes = [(f"v{j}", f"t{i}", "abc"[(i + (j == i % 4)) % 3]) for i in range(12) for j in range(4)]
    labels = from_triples(votes)

    def of(model: type[Any], options: crowd.Options, given: dict[str, Any]) -> Model:
        path = folder / "sound"
        crowd.save(str(path), model(**given), options, crowd.aggregate(labels, model(**given), options).fit.state)

        def use(path: Path, loaded: Any) -> None:
            metadata, state = loaded
            models = {each.name: each for each in BUILT_IN}
            if metadata["model"] not in models or metadata["method"] not in ("batch", "online"):
                return  # `hutch crowd` names the nearest valid name
            again = models[metadata["model"]](**metadata["parameters"])
            chosen = crowd.Options(metadata["method"], slots=int(metadata["slots"]))
            more = from_triples(votes, state.classes, state.worker_names)
            found = crowd.aggregate(more, again, chosen, state)
            crowd.save(str(path), again, chosen, found.fit.state)

        return Model(path.read_bytes(), lambda path: crowd.load(str(path)), use)

    online = crowd.Options("online", slots=8)
    made = {f"crowd {m.name}": (m, crowd.Options(), _given(m)) for m in BUILT_IN if m.kind == "classes"}
    made |= {f"crowd {m.name} online": (m, online, {}) for m in BUILT_IN if m.name in ("two_level", "nominal")}
    return {name: of(*given) for name, given in made.items() if not chosen or name in chosen}


def _given(model: type[Any]) -> dict[str, Any]:
    return {"reference": ("v0",)} if model.name == "mixed" else {}


def _ems(folder: Path, chosen: Collection[str]) -> dict[str, Model]:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    path, found = folder / "sound", {}
    for regularizer in ("exact", "nat_oem", "none"):
        for mode in (None, "class") if regularizer != "none" else (None,):
            if chosen and f"em {regularizer} {mode or 'step'}" not in chosen:
                continue
            settings = em.Settings(rank=2, regularizer=regularizer, mode=mode)
            learner = em.create(settings, rows[:10], EM_MODELS[0])
            learner.learn(rows)
            em.save(path, learner, settings, {})

            def use(path: Path, loaded: Any) -> None:
                learner, settings = loaded
                learner.learn(rows)
                em.save(path, learner, settings, {})

            found[f"em {regularizer} {mode or 'step'}"] = Model(
                path.read_bytes(), lambda path: em.load(path, {each.name: each for each in EM_MODELS}), use
            )
    return found


def _resident(field: str) -> int:
    """Bytes of memory that this process has now (VmRSS), or had at most since it was asked to forget (VmHWM)."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def loaded(model: Model, path: Path) -> tuple[Any, int]:
    """What a file holds, or the HutchError that refuses it; and the bytes that loading took at most.

    They are the larger one of what Python and NumPy allocated, used or not, and of what was resident.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before, found = _resident("VmRSS"), None
    tracemalloc.start()
    try:
        found = model.load(path)
    except HutchError as error:
        found = error.with_traceback(None)
    finally:
        asked = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return found, max(asked, _resident("VmHWM") - before)


def parsed(content: bytes) -> tuple[Arrays, dict[str, str]]:
    """The arrays and the header's metadata of a safetensors file."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    metadata, body = header.pop("__metadata__"), content[8 + size :]
    kinds = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "?"}
    kinds |= {"U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8"}
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


def _case(models: dict[str, Model], number: int, seed: int) -> tuple[str, bytes, str]:
    dice = random.Random(f"{seed}/{number}")
    name = sorted(models)[number % len(models)]
    for _ in range(20):
        try:
            changed, said = mutated(models[name].content, dice)
        except (ValueError, KeyError, TypeError, OverflowError, AttributeError, RecursionError):
            continue  # what cannot be written is no file
        if changed != models[name].content:
            return name, changed, said
    return name, models[name].content[:-1], "damaged: cut"


def run(count: int, seed: int, kinds: str = "chain,crowd,em", only: str = "") -> Found:
    """Try so many models.

    Args:
        count: how many.
        seed: of the mutations.
        kinds: of models, of `chain`, `crowd` and `em`.
        only: names of models, separated by commas; empty: all.
    """
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    findings: list[str] = []
    chosen = only.split(",") if only else []
    with tempfile.TemporaryDirectory() as folder:
        makers = {"chain": _chains, "crowd": _crowds, "em": _ems}
        models = {k: made for kind in kinds.split(",") for k, made in makers[kind](Path(folder), chosen).items()}
        largest = max(sum(a.nbytes for a in parsed(model.content)[0].values()) for model in models.values())
        takes = {}
        for name, model in models.items():
            path = Path(folder) / "sound"
            path.write_bytes(model.content)
            model.use(path, loaded(model, path)[0])  # nothing is compiled or imported later
            path.write_bytes(model.content)
            takes[name] = loaded(model, path)[1]

        def case(number: int) -> str:
            name, changed, _ = _case(models, number, seed)
            path = Path(folder) / "forged"
            path.write_bytes(changed)
            found, took = loaded(models[name], path)
            if took > 2 * takes[name] + ROOM:
                return f"took {took} bytes, the sound model {takes[name]}"
            try:
                if isinstance(found, HutchError):
                    raise found
                models[name].use(path, found)
            except HutchError as error:
                return "refused" if str(error).strip() else "no message"
            return "accepted"

        for number, outcome in in_forks(count, case, memory=SLACK + 2 * largest):
            name, _, said = _case(models, number, seed)
            good = outcome in ("refused", "accepted")
            counts[f"{said.partition(':')[0]}, {outcome if good else 'FOUND'}"] += 1
            if not good:
                findings.append(f"seed {seed} number {number}: {name}: {said}: {outcome}")
    return counts, findings


if __name__ == "__main__":
    main(__doc__, run, 2000)
