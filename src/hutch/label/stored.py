"""Answers that are bought once: they are kept in the label store, and taken from there when a run begins again."""

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hutch.core.errors import DataError, HutchError, StoreError, at, did_you_mean, shortened
from hutch.core.strict_json import dumps, loads
from hutch.durable.entries import Round
from hutch.durable.records import DONT_KNOW, SKIP, Answer, Request, canonical_label
from hutch.durable.store import Store
from hutch.label.market import UNKNOWN, Places
from hutch.label.posterior import Array, Votes
from hutch.label.votes import Items, Said
from hutch.label.who import Kind, Who

SECONDS = 0.2
"""Answers of a command are on disk after so long at most."""


class Waiting(Exception):
    """People have not answered all requests."""


class Stored:
    """Sells answers, and stores them.

    Args:
        store: of requests and answers.
        items: the items to label.
        classes: their names, at least 2.
        who: the annotators.
        files: votes by kind, of those that have a file.
    """

    def __init__(self, store: Store, items: Items, classes: Sequence[str], who: Who, files: Mapping[str, Said]) -> None:
        self._store, self._items, self._classes, self._who, self._files = store, items, list(classes), who, files
        plain = all(canonical_label(name) == name for name in classes)
        self.codes = {name if plain else str(k + 1): k for k, name in enumerate(classes)}
        self._label = list(self.codes)
        self._places = {name: place for place, name in enumerate(items.names)}
        self._judges = list(who.judges.items())
        self.bought = [0] * (len(self._judges) + 1)
        store.allow_labels(self._label)
        self._requests: dict[str, tuple[float, float, str]] = {}
        self._answers: dict[str, list[tuple[str, str]]] = {}
        for id, probability, prediction, state in store.rows("SELECT id, probability, prediction, state FROM requests"):
            self._requests[id] = (probability, prediction, state)
        for id, worker, label in store.rows("SELECT request, worker, label FROM labels ORDER BY number"):
            self._answers.setdefault(id, []).append((worker, label))

    def pin(self, settings: Mapping[str, object]) -> None:
        """Record the settings that determine all requests; they must not change.

        Raises:
            StoreError: they differ from the recorded ones.
        """
        names = hashlib.sha256("\n".join(self._items.names).encode()).hexdigest()[:16]
        kinds = {name: [kind.price, kind.labels] for name, kind in (*self._judges, self._who.people)}
        wanted = {**settings, "items": names, "classes": self._classes, "who": kinds}
        before = json.loads(self._store.note("label", json.dumps(wanted)))
        for key, value in wanted.items():
            if before.get(key) != json.loads(json.dumps(value)):
                text = f"{key}: got {shortened(str(value))}, but it was {shortened(str(before.get(key)))} when it began"
                raise StoreError(at(str(self._store.path), None, None, f"{text}: use another store"))

    @property
    def spent(self) -> float:
        """The price of all that was bought."""
        kinds = [kind for _, kind in self._judges] + [self._who.people[1]]
        return sum(kind.price * count for kind, count in zip(kinds, self.bought, strict=True))

    @property
    def open(self) -> int:
        """Requests that people have not answered."""
        return self._store.counts().open

    def page(self, names: Sequence[str]) -> str:
        """The command that shows the open requests to people.

        Args:
            names: of the classes.
        """
        pairs = " ".join(f"--name {code}={names[k]}" for code, k in self.codes.items() if code != names[k])
        return f"hutch active serve --store {self._store.path} {pairs}".rstrip()

    def votes(self, judge: int, items: Places) -> Votes:
        """A judge's votes on some items."""
        name, kind = self._judges[judge]
        ids = [dumps([name, self._items.names[item]], ensure_ascii=False) for item in items.tolist()]
        missing = np.array([item for item, id in zip(items.tolist(), ids, strict=True) if id not in self._requests])
        if len(missing):
            self._fetch(name, kind, missing)
        found, codes = Votes.none(len(items), kind.labels), {"": 0}
        for place, id in enumerate(ids):
            given = [each for each in self._answers.get(id, []) if each[1] in self.codes][: kind.labels]
            for vote, (worker, label) in enumerate(given):
                found.label[place, vote] = self.codes[label]
                found.worker[place, vote] = codes.setdefault(worker, len(codes)) - 1
                found.probability[place, vote] = self._requests[id][1] or np.nan
            self.bought[judge] += len(given)
        return found

    def _line(self, item: int) -> str:
        return dumps(self._items.documents[item], ensure_ascii=False)

    def _fetch(self, name: str, kind: Kind, items: Places) -> None:
        """Buy answers of a kind that has a file or a command."""
        if kind.votes:
            found = self._files[name].votes(self._places, self._classes, kind.labels).of(items)
            workers = self._files[name].names[0]
            rows = []
            columns = (found.label.tolist(), found.worker.tolist(), found.probability.tolist())
            for item, *row in zip(items.tolist(), *columns, strict=True):
                votes = [(f"{name}/{workers[w]}", self._label[k]) for k, w, _ in zip(*row, strict=True) if k >= 0]
                given = [p for p in row[2] if p == p]  # a request has one: the mean
                rows.append((item, votes, float(np.mean(given)) if given else np.nan))
            self._keep(name, rows)
            return
        assert kind.command is not None
        waiting: list[tuple[int, list[tuple[str, str]], float]] = []
        kept = time.monotonic()
        try:
            for item, code, chance in ask_command(kind.command, self._items, items, self._classes):
                waiting.append((item, [(name, self._label[code])] if code >= 0 else [], chance))
                if time.monotonic() - kept > SECONDS:
                    self._keep(name, waiting)
                    waiting, kept = [], time.monotonic()
        finally:
            self._keep(name, waiting)

    def _keep(self, name: str, rows: Sequence[tuple[int, list[tuple[str, str]], float]]) -> None:
        """Record requests with their answers, in one transaction."""
        requests, answers = [], []
        for item, votes, probability in rows:
            item_name = self._items.names[item]
            of_people = name == self._who.people[0]
            id = item_name if of_people else dumps([name, item_name], ensure_ascii=False)
            known = 0.0 if np.isnan(probability) else probability
            requests.append(Request(id, self._line(item), known, 1.0, 1.0, name))
            votes = votes or [(name, DONT_KNOW)]
            answers += [Answer(id, worker, label, json.dumps([id, worker])) for worker, label in votes]
            self._requests[id], self._answers[id] = (1.0, known, "answered"), votes
        if requests:
            self._store.record(requests, Round(name, len(requests), float(len(requests)), None), answers)

    def people(self, fixes: Places, audits: Places, chances: Array) -> Iterator[int]:
        """People's labels, one after the other.

        Raises:
            Waiting: answers are missing.
            StoreError: earlier requests were different.
        """
        name, kind = self._who.people
        asked = dict(zip([*fixes.tolist(), *audits.tolist()], [1.0] * len(fixes) + chances.tolist(), strict=True))
        missing = [item for item in asked if self._items.names[item] not in self._requests]
        if missing and not kind.store:
            self._fetch(name, kind, np.array(missing))
        elif missing:
            requests = [
                Request(self._items.names[item], self._line(item), 0.0, asked[item], 1 / asked[item], name)
                for item in missing
            ]
            texts = {self._items.names[item]: self._items.documents[item] for item in missing}
            round = Round(name, len(self._items.names), float(len(missing)), None)
            self._store.ask(requests, round, wanted=kind.labels, documents=texts)
            self._requests |= {each.id: (each.probability, 0.0, "open") for each in requests}
        for place, (item, chance) in enumerate(asked.items()):
            id = self._items.names[item]
            if kind.store and abs(self._requests[id][0] - chance) > 1e-9:
                text = f"item {id!r} was drawn with probability {self._requests[id][0]:g}, but now with {chance:g}"
                raise StoreError(at(str(self._store.path), None, None, f"{text}: use another store"))
            try:
                said = self._said(id, kind)
            except Waiting:
                counted = self._requests[id][2] != "open"
                for later in [*asked][place + counted :]:  # some have been answered, and are paid
                    self._majority(self._items.names[later])
                raise
            yield said

    def answered(self, items: Places) -> Iterator[tuple[int, int]]:
        """Items that people have answered, and their labels."""
        for item in items.tolist():
            if self._requests[id := self._items.names[item]][2] != "open":
                said = self._majority(id)
                yield item, UNKNOWN if said is None else said

    def waits(self, items: Places) -> bool:
        """Whether people have been asked about some of the items and have not answered."""
        return any(self._requests[self._items.names[item]][2] == "open" for item in items.tolist())

    def _said(self, id: str, kind: Kind) -> int:
        """The majority label of an item; without a majority one more person is asked."""
        if self._requests[id][2] == "open":
            raise Waiting
        if (said := self._majority(id)) is not None:
            return said
        if not kind.store:
            return UNKNOWN
        self._store.want_more(id)
        raise Waiting

    def _majority(self, id: str) -> int | None:
        """The label that most people gave an item; None in a tie."""
        given = [label for _, label in self._answers.get(id, []) if label not in (SKIP, DONT_KNOW)]
        self.bought[-1] += len(given)
        if not given:
            return UNKNOWN
        (first, most), *others = Counter(given).most_common(2)
        return None if others and others[0][1] == most else self.codes[first]


def ask_command(command: str, items: Items, chosen: Places, classes: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """A command's answers for some items: place, class or -1, probability or NaN, as its lines arrive.

    It reads a JSON object per item and prints `{"id": ..., "label": ..., "probability": ...}` for each; a label of
    null means no label.

    Raises:
        DataError: a line that is not an answer, with its place, or an item without an answer.
        HutchError: the command fails.
    """
    source, missing = f"<{command}>", {items.names[item]: item for item in chosen.tolist()}
    codes = {name: k for k, name in enumerate(classes)}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        for name, item in missing.items():
            given.write(dumps({**items.documents[item], "id": name}, ensure_ascii=False) + "\n")
        given.seek(0)
        sys.stderr.flush()
        with subprocess.Popen(command, shell=True, stdin=given, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                for number, line in enumerate(process.stdout, 1):
                    if line.strip():
                        yield _answer(loads(line.rstrip("\r\n"), source, number), codes, missing, source, number)
            except BaseException:
                process.kill()
                raise
    if process.returncode:
        raise HutchError(at(source, None, None, f"ended with status {process.returncode}"))
    if missing:
        text = f"no answer for {len(missing)} of {len(chosen)} items, such as {next(iter(missing))!r}"
        raise DataError(at(source, None, None, f"{text}; wanted one for each, with a label or null"))


def _answer(
    found: object, codes: Mapping[str, int], missing: dict[str, int], source: str, number: int
) -> tuple[int, int, float]:
    def wrong(text: str) -> DataError:
        return DataError(at(source, number, None, text))

    if not isinstance(found, dict) or not {"id", "label"} <= found.keys():
        raise wrong("got no answer, wanted an object with id and label")
    name, label, probability = str(found["id"]), found["label"], found.get("probability")
    if name not in missing:
        raise wrong(f"id: got {name!r}, wanted an item that was asked for and has no answer yet")
    if label is not None and str(label) not in codes:
        text = f"label: got {shortened(repr(label))}, wanted one of {', '.join(codes)}"
        raise wrong(f"{text}; {did_you_mean(str(label), codes)}")
    if probability is not None and not (isinstance(probability, int | float) and 0 < probability <= 1):
        raise wrong(f"probability: got {shortened(repr(probability))}, wanted a number above 0, up to 1")
    value = float("nan") if probability is None else float(probability)
    return missing.pop(name), -1 if label is None else codes[str(label)], value
