"""A log of what was shown and whether it was clicked, with the probability of the choice."""

from random import Random

from hutch.core.strict_json import dumps
from hutch.demo.demonstration import Demonstration

_ARTICLES = ("football", "election", "recipe", "startup", "concert")
_LIKES = {
    ("student", "morning"): {"startup": 0.32, "concert": 0.2},
    ("student", "evening"): {"concert": 0.42, "football": 0.25},
    ("parent", "morning"): {"election": 0.36, "recipe": 0.15},
    ("parent", "evening"): {"recipe": 0.44, "election": 0.15},
    ("retired", "morning"): {"election": 0.40, "football": 0.2},
    ("retired", "evening"): {"football": 0.34, "recipe": 0.2},
}
"""How often readers click on what they like; other articles have 4 clicks in 100."""

_DECISIONS = 3_000

_POLICY = """\
# Learns from the log which article to show to whom; explores by itself where it is unsure.
chain:
  - explore_posterior: {method: optimism, width: 1}
  - contextual_bandit
  - cost_sensitive_with_features
  - bayesian_linear: {covariance: blocks, dimension: 64, loss: squared, interactions: [[reader, article]]}
"""


def make() -> Demonstration:
    """3,000 choices among five articles by an editor's rule that explores in a fifth of the cases."""
    random = Random(5)
    return Demonstration(
        {"clicks.dsjson": "".join(f"{_decision(random, n)}\n" for n in range(_DECISIONS)), "policy.yaml": _POLICY},
        (
            (
                "Would a learned policy have had more clicks than the rule that made the log? (A click costs -1.)",
                "hutch evaluate {}/clicks.dsjson -C {}/policy.yaml",
            ),
            (
                "Learn it, and ask what to show.",
                "hutch train {}/clicks.dsjson -C {}/policy.yaml -f {}/articles.model --quiet",
            ),
            ("Serve it: choices over HTTP, and it goes on learning.", "hutch serve {}/articles.model"),
        ),
    )


def _decision(random: Random, number: int) -> str:
    reader, time = random.choice(list(_LIKES))
    shown = 1 if random.random() < 0.8 else random.randrange(len(_ARTICLES))
    probability = 0.8 + 0.2 / len(_ARTICLES) if shown == 1 else 0.2 / len(_ARTICLES)
    clicked = random.random() < _LIKES[reader, time].get(_ARTICLES[shown], 0.04)
    actions = [{"article": {"topic": topic}, "i": {"id": topic, "for": f"{reader}-{time}"}} for topic in _ARTICLES]
    order = [shown, *(place for place in range(len(_ARTICLES)) if place != shown)]
    others = [0.8 + 0.2 / len(_ARTICLES) if place == 1 else 0.2 / len(_ARTICLES) for place in order[1:]]
    return dumps(
        {
            "_label_cost": -1.0 if clicked else 0.0,
            "_label_probability": round(probability, 4),
            "_label_Action": shown + 1,
            "_labelIndex": shown,
            "Timestamp": f"2026-03-{1 + number // 150:02}T{number % 24:02}:00:00Z",
            "EventId": f"e{number}",
            "a": [place + 1 for place in order],
            "c": {"reader": {"kind": reader, "time": time}, "_multi": actions},
            "p": [round(probability, 4), *(round(each, 4) for each in others)],
        }
    )
