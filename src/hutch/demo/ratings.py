"""Ratings by annotators: support tickets, sorted into categories by people of different skill."""

from random import Random

from hutch.demo.demonstration import Demonstration, numbered, table

_CATEGORIES = {"billing": 0.4, "account": 0.3, "bug": 0.2, "feature": 0.1}
_CONFUSED = {"billing": "account", "account": "billing"}
"""What somebody calls these who has read the guideline the other way round."""

_ANNOTATORS = {
    "ana": (0.95, 2),
    "bruno": (0.93, 2),
    "chen": (0.92, 3),
    "deepa": (0.90, 2),
    "emeka": (0.88, 3),
    "farah": (0.85, 2),
    "goran": (0.80, 3),
    "hana": (0.75, 3),
    "ivan": (0.70, 3),
    "kim": (None, 4),
    "lena": (None, 4),
    "mateo": (0.90, 3),
}
"""How often each is right, None for a guess; and how many tickets they take, beside the others."""

_SWAPS = "mateo"
_TICKETS, _EACH = 800, 5


def make() -> Demonstration:
    """800 tickets, five annotators each; two of the twelve guess, and one confuses two categories."""
    random = Random(7)
    rows, truth = [], []
    for ticket in numbered(random, 1001, _TICKETS, "T-"):
        category = random.choices(list(_CATEGORIES), list(_CATEGORIES.values()))[0]
        truth.append((ticket, category))
        rows += [(ticket, who, _answer(random, who, category)) for who in _chosen(random)]
    random.shuffle(rows)
    return Demonstration(
        {"labels.csv": table("ticket,annotator,category", rows), "truth.csv": table("ticket,category", truth)},
        (
            (
                "Which category is right, how good is each annotator, what to ask again? (The truth is known here.)",
                "hutch crowd {}/labels.csv --score {}/truth.csv -p {}/categories.tsv --workers {}/annotators.tsv",
            ),
            ("Which five tickets to ask about next?", "hutch crowd {}/labels.csv --next 5 --quiet"),
            (
                "A page about the quality of the labels.",
                "hutch crowd {}/labels.csv --report {}/quality.html --suspects {}/suspects.tsv --quiet",
            ),
        ),
    )


def _chosen(random: Random) -> list[str]:
    chosen: list[str] = []
    while len(chosen) < _EACH:
        who = random.choices(list(_ANNOTATORS), [taken for _, taken in _ANNOTATORS.values()])[0]
        if who not in chosen:
            chosen.append(who)
    return chosen


def _answer(random: Random, who: str, category: str) -> str:
    right, _ = _ANNOTATORS[who]
    if right is None:
        return random.choice(list(_CATEGORIES))
    if random.random() >= right:
        return random.choice([other for other in _CATEGORIES if other != category])
    return _CONFUSED.get(category, category) if who == _SWAPS else category
