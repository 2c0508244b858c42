"""Verdicts of language models on a chatbot's answers, and people's labels of some that were drawn by lot."""

from random import Random

from hutch.demo.demonstration import Demonstration, numbered, table

_JUDGES = {"judge-large": (0.98, 0.92), "judge-small": (0.90, 0.60), "judge-mini": (0.85, 0.45)}
"""How often each passes a good answer, and fails a bad one."""

_TOPICS = ("returns", "shipping", "warranty", "payment")
_HARD = "warranty"
_ANSWERS, _LABELLED, _GOOD = 1_200, 150, 0.72


def make() -> Demonstration:
    """1,200 answers judged by three models, of which people labelled 150."""
    random = Random(11)
    verdicts, labels = [], []
    names = list(numbered(random, 40_001, _ANSWERS, "a"))
    drawn = set(random.sample(names, _LABELLED))
    for name in names:
        topic = random.choice(_TOPICS)
        good = random.random() < _GOOD - (0.15 if topic == _HARD else 0.0)
        if name in drawn:
            labels.append((random.choice(("ines", "omar")), name, "pass" if good else "fail"))
        verdicts += [(judge, name, topic, _verdict(random, judge, topic, good)) for judge in _JUDGES]
    return Demonstration(
        {
            "verdicts.csv": table("judge,answer_id,topic,verdict", verdicts),
            "people.csv": table("reviewer,answer_id,verdict", labels),
        },
        (
            (
                "What share of all 1,200 answers is good?",
                "hutch estimate {}/people.csv --judges {}/verdicts.csv --of rate=pass",
            ),
            (
                "Which judge can be trusted, and where?",
                "hutch judges {}/verdicts.csv --people {}/people.csv --slice topic --report {}/judges.html",
            ),
            (
                "Is the large judge better than the small one?",
                "hutch estimate {}/people.csv --judges {}/verdicts.csv --of difference=judge-large,judge-small",
            ),
        ),
    )


def _verdict(random: Random, judge: str, topic: str, good: bool) -> str:
    passes_good, fails_bad = _JUDGES[judge]
    if topic == _HARD:
        fails_bad -= 0.2
    right = random.random() < (passes_good if good else fails_bad)
    return "pass" if good == right else "fail"
