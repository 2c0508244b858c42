"""Files of labels in many layouts, made up by a generator: none is read wrongly in silence."""

import csv
import gzip
import io
import random
from collections import Counter

import pytest
import zstandard

from hutch.core.errors import DataError
from hutch.crowd.read.labels import read_questions

NOUNS = (
    "anchor basket candle dragon engine falcon garden hammer island jacket kettle ladder magnet needle orchid pepper "
    "quiver ribbon saddle timber velvet walnut yonder zephyr bridge copper donkey fabric goblin harbor"
).split()
"""Words that no reader knows as names of columns."""
KNOWN = {
    "worker": ["worker", "annotator_id", "rater", "user_id", "coder", "reviewer"],
    "task": ["task", "item", "id", "document", "example_id", "unit"],
    "label": ["label", "answer", "score", "verdict", "rating", "class"],
    "question": ["question", "criterion", "dimension", "aspect"],
}
CLASSES = (["yes", "no"], ["neg", "neu", "pos"], ["1", "2", "3", "4", "5"], ["cat", "dog", "fox", "owl"], ["0", "1"])


class Layout:
    """One made-up file: its bytes, and the labels in it."""

    def __init__(self, seed: int) -> None:
        pick = self.pick = random.Random(seed)
        self.seed = seed
        self.questions = pick.choice([1, 1, 1, 2, 3])
        self.people = [f"{pick.choice(['ann', 'bob', 'w', 'gpt-'])}{k}" for k in range(pick.randint(2, 8))]
        self.items = self.names_of_items(pick.randint(12, 80))
        self.classes = [pick.choice(CLASSES) for _ in range(self.questions)]
        if self.questions > 1 and pick.random() < 0.5:
            self.classes = [self.classes[0]] * self.questions
        self.asked = pick.sample(NOUNS, self.questions) if self.questions > 1 else [""]
        self.truth = {
            (i, q): pick.choice(self.classes[q]) for i in range(len(self.items)) for q in range(self.questions)
        }
        self.kind = pick.choice(["long", "long", "wide", "wide", "columns"] if self.questions > 1 else ["long", "wide"])
        self.answers: dict[tuple[int, int, int], str] = {}
        per_item = len(self.people) if pick.random() < 0.5 else max(2, len(self.people) - 2)
        for i in range(len(self.items)):
            for w in pick.sample(range(len(self.people)), per_item):
                for q in range(self.questions):
                    right = pick.random() < 0.8
                    self.answers[w, i, q] = self.truth[i, q] if right else pick.choice(self.classes[q])
        self.rows, self.header, self.labels = getattr(self, self.kind)()

    def names_of_items(self, count: int) -> list[str]:
        style = self.pick.choice(["t{}", "{}", "doc-{}.txt", "Text {} of many"])
        return [style.format(number) for number in self.pick.sample(range(1, 10 * count), count)]

    def named(self, role: str) -> str:
        """The name of a column: known, or any noun."""
        if self.pick.random() < 0.4:
            return self.pick.choice(KNOWN[role])
        return self.pick.choice(NOUNS)

    def long(self):
        """A row per answer."""
        roles = ["worker", "task", "label"] + (["question"] if self.questions > 1 else [])
        if self.pick.random() < 0.4:
            self.pick.shuffle(roles)
        rows = []
        for (w, i, q), answer in self.answers.items():
            given = {"worker": self.people[w], "task": self.items[i], "label": answer, "question": self.asked[q]}
            rows.append([given[role] for role in roles])
        if self.pick.random() < 0.5:
            self.pick.shuffle(rows)
        header = self.distinct([self.named(role) for role in roles])
        if roles == ["worker", "task", "label"] and self.pick.random() < 0.3:
            header = None
        if header and self.pick.random() < 0.3:  # a column that is about the task
            about = {name: f"some words about {name}" for name in self.items}
            header = [*header, "text" if self.pick.random() < 0.5 else self.pick.choice(sorted({*NOUNS} - {*header}))]
            rows = [[*row, about[row[roles.index("task")]]] for row in rows]
        return (
            rows,
            header,
            {(self.people[w], self.items[i], a, self.asked[q]) for (w, i, q), a in self.answers.items()},
        )

    def wide(self):
        """A row per task, or per task and question, a column per worker."""
        ids = self.questions > 1 or self.pick.random() < 0.7
        rows, labels = [], set()
        for i, item in enumerate(self.items):
            for q in range(self.questions):
                cells = [self.answers.get((w, i, q), "") for w in range(len(self.people))]
                rows.append([*([item] if ids else []), *([self.asked[q]] if self.questions > 1 else []), *cells])
                name = item if ids else str(len(rows))
                labels |= {(self.people[w], name, a, self.asked[q]) for w, a in enumerate(cells) if a}
        self.people = self.distinct(self.people)
        header = [*([self.pick.choice(["id", "item", "", self.pick.choice(NOUNS)])] if ids else [])]
        header += [self.named("question")] if self.questions > 1 else []
        header = self.distinct([*header, *self.people])
        return rows, header, labels

    def columns(self):
        """A row per worker and task, a column per question; the names are known, as nothing else can tell."""
        by_pair: dict[tuple[int, int], list[str]] = {}
        for (w, i, q), answer in self.answers.items():
            by_pair.setdefault((w, i), [""] * self.questions)[q] = answer
        rows = [[self.people[w], self.items[i], *answers] for (w, i), answers in by_pair.items()]
        header = ["worker", "task", *self.asked]
        return (
            rows,
            header,
            {(self.people[w], self.items[i], a, self.asked[q]) for (w, i, q), a in self.answers.items()},
        )

    @staticmethod
    def distinct(names: list[str]) -> list[str]:
        seen: Counter[str] = Counter()
        found = []
        for name in names:
            seen[name] += 1
            found.append(name if seen[name] == 1 else f"{name}{seen[name]}")
        return found

    def data(self) -> bytes:
        """The file, in some separator, encoding and compression."""
        separator = self.pick.choice(["\t", ",", ";", "|"] + ([" "] if self.without_blanks() else []))
        text = io.StringIO()
        writer = csv.writer(text, delimiter=separator, lineterminator=self.pick.choice(["\n", "\r\n"]))
        writer.writerows(([self.header] if self.header else []) + self.rows)
        data = text.getvalue().encode(self.pick.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
        return self.pick.choice([bytes, bytes, gzip.compress, zstandard.ZstdCompressor().compress])(data)

    def without_blanks(self) -> bool:
        cells = [cell for row in [*(self.rows), self.header or ["x"]] for cell in row]
        return all(cell and " " not in cell for cell in cells)


def outcome(path, layout: Layout) -> str:
    """Whether a layout is read right, refused, or read wrongly."""
    path.write_bytes(layout.data())
    try:
        found = read_questions(path)
    except DataError:
        return "refused"
    several = len(found) > 1 or layout.questions > 1
    read = {
        (labels.worker_names[w], labels.item_names[int(i)], labels.classes[k], question if several else "")
        for question, labels in found.items()
        for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    }
    return "right" if read == layout.labels else "wrong"


@pytest.mark.parametrize("first", [0, 20, 40])
def test_no_made_up_layout_is_read_wrongly(tmp_path, first):
    found = {seed: outcome(tmp_path / "labels", Layout(seed)) for seed in range(first, first + 20)}
    counts = Counter(found.values())
    print(f"{counts['right']} of {len(found)} layouts are read right, {counts['refused']} refused")
    assert [seed for seed, how in found.items() if how == "wrong"] == []
    assert counts["right"] >= 16
