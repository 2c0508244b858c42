"""`hutch inspect`: the learned content of a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from hutch.core.strict_json import dumps
from hutch.shell.declared import Argument, Option
from hutch.shell.reports import reports

_SMALL = 400
"""Numbers of an array that are shown."""


@reports
def inspect(
    model: Annotated[Path, Argument(metavar="MODEL", help="A model.")],
    readable: Annotated[
        Path | None, Option("--readable", metavar="FILE", help="Write the whole model as text.")
    ] = None,
    invert_hash: Annotated[
        str | None, Option("--invert-hash", metavar="DATA", help="Print the weights of the features named in DATA.")
    ] = None,
    top: Annotated[
        int | None, Option("--top", metavar="N", min=1, help="With --invert-hash: the first N words of each topic.")
    ] = None,
    explain: Annotated[
        str | None, Option("--explain", metavar="LINE", help="Show how a line is parsed and what each feature adds.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a model is, the weights behind names, or the parts of the prediction for a line.

    For a crowd it shows how an unknown worker labels each class, which classes such a worker confuses, and the
    parameters that all workers share: `population` of two_level, the probability of each label (row) given the class
    (column); and `gamma` of nominal: the larger, the less likely the label (column) given the class (row).

    Example: hutch inspect model --explain '1 |word good bad:2'
    """
    from hutch.core.chain.model_file import kind_of

    kind = kind_of(model)
    if kind != "chain" and (readable, invert_hash, explain) == (None, None, None):
        _show_other(model, kind, as_json)
        return
    from hutch.chain import Chain
    from hutch.core.chain.readable_model import write_readable

    chain = Chain.load(model)
    topics = None if top is None else _topics(chain, invert_hash, top)
    if readable is not None:
        write_readable(readable, chain.arrays(), chain.metadata())
    if topics is not None:
        _print(topics, ("topic", "share", "words"), as_json)
    elif invert_hash is not None:
        rows = list(_named_weights(chain, invert_hash))
        _print(rows, ("feature", "index", "collides", "weights"), as_json)
    elif explain is not None:
        found = _explained(chain, explain)
        if as_json:
            print(dumps(found))
        else:
            _print(found["features"], ("feature", "index", "value", "weights", "contributions"), False)
            if found.get("pairs"):
                _print(found["pairs"], ("pair", "contributions"), False)
            if found["sums"] and len(found["sums"]) > 1:
                print("sums " + " ".join(f"{value:g}" for value in found["sums"]))
            print(f"prediction {found['prediction']:g}")
    elif readable is None:
        _summary(chain, as_json)


def _topics(chain: Any, data: str | None, count: int) -> list[dict[str, Any]]:
    """The first words of each topic, of those that occur in a file."""
    from hutch.core.chain.capabilities import FindsTopics, has
    from hutch.core.errors import UsageError

    base = chain.layers[-1]
    if not has(base, FindsTopics):
        raise UsageError(f"--top: got a model of {base.name}, which has no topics")
    if data is None:
        raise UsageError("--top: the model has no names of words: wanted --invert-hash DATA with it, which has")
    return base.top_words(chain.weights, _names(chain, data), count)


def _show_other(path: Path, kind: str, as_json: bool) -> None:
    """The description of a model that is no chain: its facts, its parameters common to all, and what its kind adds."""
    from hutch.core.chain.model_file import load_model
    from hutch.core.config.yaml import write
    from hutch.plugins.manager import installed

    arrays, metadata = load_model(path, kind=kind)
    shared = {name: array for name, array in arrays.items() if name.startswith("shared.") and array.size <= _SMALL}
    values = {name: array.astype(float).round(6).tolist() for name, array in shared.items()}
    shapes = {name: list(array.shape) for name, array in arrays.items() if name not in shared}
    registry = installed().registry
    more = registry.inspectors[kind](path, registry) if kind in registry.inspectors else {}
    facts = {"kind": kind, **metadata, **values, **more, "shapes": shapes}
    print(dumps(facts) if as_json else write(facts).rstrip())


def _weights(chain: Any, index: int) -> list[list[float]]:
    """The rows of one feature, one per sub-model; of a learner of topics its weights in these."""
    from hutch.core.chain.capabilities import FindsTopics, has

    shared = chain.shared[0]
    if has(chain.layers[-1], FindsTopics):
        row = index & int(shared["mask"])
        return chain.layers[-1].topic_weights(chain.weights[row : row + 1]).tolist()  # type: ignore[no-any-return]
    total = chain.layers[-1].context.submodels
    first = index * int(shared["multiplier"])
    return [[float(x) for x in chain.weights[(first + k) & int(shared["mask"])]] for k in range(total)]


def _explained(chain: Any, line: str) -> dict[str, Any]:
    """Each feature of a line with its weight and, above a linear base, its part in each sub-model's prediction."""
    from hutch.core.chain.capabilities import SumsPairs, SumsWeights, has
    from hutch.core.text.names import explain

    predictions = chain.predict([line])
    found: dict[str, Any] = {"prediction": float(predictions[0]) if len(predictions) else None}
    if has(chain.layers[-1], SumsWeights):
        features = _contributions(chain, line)
        sums = [sum(column) for column in zip(*(f["contributions"] for f in features), strict=True)]
        return {**found, "sums": sums, "features": features}
    features = [
        {
            "feature": " = ".join(feature.names) or "?",
            "index": feature.index,
            "value": feature.value,
            "collides": len(feature.names) > 1,
            "weights": _weights(chain, feature.index),
            "contributions": None,
        }
        for feature in explain(line, chain.parser)
    ]
    if has(chain.layers[-1], SumsPairs) and len(predictions):
        return {**found, **_parts(chain, line, features)}
    return {**found, "sums": None, "features": features}


def _parts(chain: Any, line: str, features: list[dict[str, Any]]) -> dict[str, Any]:
    """Features and pairs of namespaces with their parts of every sub-model's prediction, which add up to it.

    The sums begin with the mean of the labels, where the base standardises them.
    """
    from hutch.core.text.hashing import namespace_id
    from hutch.core.text.names import feature_names
    from hutch.core.text.parser import TextParser

    base = chain.layers[-1]
    units = [base.unit(k) for k in range(base.context.submodels)]

    def scaled(parts: list[float]) -> list[float]:
        return [deviation * part for (_, deviation), part in zip(units, parts, strict=True)]

    spaces = dict.fromkeys(feature.namespace for feature in feature_names(line, chain.parser))
    names = {namespace_id(name, chain.parser.namespaces): name for name in spaces if name is not None}
    pairs: list[dict[str, Any]] = [
        {"pair": f"{names.get(left, '?')} x {names.get(right, '?')}", "contributions": scaled(parts)}
        for left, right, parts in base.pair_parts(TextParser(chain.parser).parse(line.encode()))
    ]
    for feature in features:
        feature["weights"] = [row[0] for row in feature["weights"]]
        feature["contributions"] = scaled([weight * feature["value"] for weight in feature["weights"]])
    rows = [row["contributions"] for row in (*features, *pairs)]
    sums = [mean + sum(row[k] for row in rows) for k, (mean, _) in enumerate(units)]
    pairs.sort(key=lambda pair: -max(abs(part) for part in pair["contributions"]))
    return {"sums": sums, "features": features, "pairs": pairs}


def _contributions(chain: Any, line: str) -> list[dict[str, Any]]:
    """The features that reach a linear base, interactions and those that layers make included, for every sub-model.

    The contributions to one sub-model add up to its prediction before clipping and links.
    """
    import numpy as np

    from hutch.core.chain.capabilities import AddsFeatures, has
    from hutch.core.text.names import feature_names
    from hutch.core.text.parser import TextParser
    from hutch.vw.lines import features_of

    batch = TextParser(chain.parser).parse(line.encode())
    if not len(batch):
        return []
    base, multiplier = chain.layers[-1], int(chain.shared[0]["multiplier"])
    called: dict[int, dict[str, None]] = {}
    for feature in feature_names(line, chain.parser):
        called.setdefault(feature.index, {})[str(feature)] = None
    [rows] = features_of(chain, {index: list(several)[-1] for index, several in called.items()}, batch)
    if any(has(layer, AddsFeatures) for layer in chain.layers):
        names = {index: next(iter(several)) for index, several in called.items()}
        gathered, values, _ = base.gathered()
        gathered = gathered - gathered % np.uint32(multiplier)
        rows = [
            (names.get(row // multiplier, "?") + (f"^{row % multiplier}" if row % multiplier else ""), row, value)
            for row, value in zip(gathered.tolist(), values.tolist(), strict=True)
        ]
    named: dict[int, set[str]] = {}
    for name, row, _ in rows:
        own = () if row % multiplier else called.get(row // multiplier, ())
        named.setdefault(row, set()).update(own, [name])
    mask, found = int(chain.shared[0]["mask"]), []
    for name, row, value in rows:
        weights = [chain.weights[(row + k) & mask, 0] for k in range(base.context.submodels)]
        shrunk = base.regularized(np.array(weights)).tolist()
        found.append(
            {
                "feature": " = ".join(several) if name in (several := called.get(row // multiplier, {})) else name,
                "index": row // multiplier,
                "value": value,
                "collides": len(named[row]) > 1,
                "weights": shrunk,
                "contributions": [weight * value for weight in shrunk],
            }
        )
    return found


def _named_weights(chain: Any, data: str) -> Iterator[dict[str, Any]]:
    """The features that occur in a file, by name, with their rows."""
    from hutch.core.chain.capabilities import SumsWeights, has

    names = _names(chain, data)
    linear = has(chain.layers[-1], SumsWeights)
    for index, found in sorted(names.items(), key=lambda item: next(iter(item[1]))):
        weights = _weights(chain, index)
        for name in found:
            yield {
                "feature": name,
                "index": index,
                "collides": len(found) > 1,
                "weights": [row[0] for row in weights] if linear else weights,
            }


def _names(chain: Any, data: str) -> dict[int, dict[str, None]]:
    """The names of the features that occur in a file, by index."""
    from hutch.core.data.chunks import Chunks
    from hutch.core.text.names import feature_names

    names: dict[int, dict[str, None]] = {}
    for chunk in Chunks([data]):
        for line in bytes(chunk.data).decode(errors="replace").splitlines():
            for feature in feature_names(line, chain.parser):
                names.setdefault(feature.index, {})[str(feature)] = None
    return names


def _print(rows: list[dict[str, Any]], columns: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        print(dumps(rows))
        return

    def text(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(map(text, value))
        return f"{value:g}" if isinstance(value, float) else "-" if value is None else str(value)

    print("\t".join(columns))
    for row in rows:
        print("\t".join(text(row[column]) for column in columns))


def _summary(chain: Any, as_json: bool) -> None:
    """The chain, the occupancy of its table, and its counters."""
    from hutch.core.config.read import to_yaml

    statistics = chain.statistics
    used = int((chain.weights != 0).any(axis=1).sum())
    facts = {
        "rows": len(chain.weights),
        "rows_used": used,
        "examples": statistics.examples,
        "features": statistics.features,
        "average_loss": None if statistics.weighted_labeled == 0 else statistics.average_loss,
        "plugins": chain.plugins.versions(),
    }
    if as_json:
        print(dumps({**facts, "chain": chain.config.to_dict()}))
        return
    print(to_yaml(chain.config, defaults=False).rstrip())
    print(f"# {used} of {len(chain.weights)} rows in use, {statistics.examples} examples seen")
    if facts["average_loss"] is not None:
        print(f"# average progressive loss {statistics.average_loss:.6f}")
