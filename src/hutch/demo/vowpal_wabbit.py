"""Lines of Vowpal Wabbit, as its users have them."""

from random import Random

from hutch.demo.demonstration import Demonstration

_WORDS = {
    1: ("great", "love", "fast", "solid", "perfect", "easy"),
    -1: ("broke", "refund", "slow", "noisy", "poor", "late"),
}
_OTHERS = ("the", "box", "it", "came", "with", "cable", "battery", "screen", "phone", "day")
_TYPES = ("phone", "laptop", "headset")
_TRAIN, _TEST = 4_000, 1_000


def make() -> Demonstration:
    """Reviews of products, 4,000 to learn from and 1,000 to test."""
    random = Random(2)
    lines = [_review(random) for _ in range(_TRAIN + _TEST)]
    return Demonstration(
        {"reviews.vw": "".join(lines[:_TRAIN]), "new.vw": "".join(lines[_TRAIN:])},
        (
            (
                "The command line as it is: the same options, the same table, the same bits of the predictions.",
                "hutch vw -d {}/reviews.vw --loss_function logistic -q rp -b 18 -f {}/reviews.model",
            ),
            ("Predict.", "hutch vw -t -d {}/new.vw -i {}/reviews.model -p {}/predictions.txt --quiet"),
            ("The same learner as a chain in YAML.", "hutch vw --loss_function logistic -q rp -b 18 --to-yaml"),
        ),
    )


def _review(random: Random) -> str:
    good = random.choice((1, -1))
    said = [random.choice(_WORDS[good if random.random() < 0.8 else -good]) for _ in range(random.randint(0, 3))]
    words = said + [random.choice(_OTHERS) for _ in range(random.randint(3, 8))]
    random.shuffle(words)
    price = round(random.uniform(0.1, 3.0), 2)
    return f"{good} |review {' '.join(words)} |product {random.choice(_TYPES)} price:{price}\n"
