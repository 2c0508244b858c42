"""Earlier models' answers to the questions of a benchmark, and those of a new model, as if people had judged them."""

import math
from random import Random

from hutch.demo.demonstration import Demonstration, table

_QUESTIONS, _EARLIER, _SKILLS = 1_200, 60, 3
_SUBJECTS = ("maths", "law", "biology", "history")
_FILL_IN = '''"""Copies the answers of the new model into the empty cells; people would judge them."""

import csv
from pathlib import Path

folder = Path(__file__).parent
truth = dict(csv.reader((folder / "truth.csv").open()))
head, *rows = csv.reader((folder / "judged.csv").open())
with (folder / "judged.csv").open("w", newline="") as file:
    csv.writer(file).writerows([head, *([*row[:3], truth[row[0]]] for row in rows)])
'''


def make() -> Demonstration:
    """1,200 questions, 60 earlier models and a new one."""
    random = Random(5)
    models = [(random.gauss(0.4, 0.5), *(random.gauss(0, 1) for _ in range(_SKILLS))) for _ in range(_EARLIER + 1)]
    answers, truth = [], []
    for number in range(_QUESTIONS):
        ease = random.gauss(0, 2)
        needs = [random.gauss(0, 1.2) for _ in range(_SKILLS)]
        right = [_answer(random, model, ease, needs) for model in models]
        answers.append((f"q{number + 1}", _SUBJECTS[number % len(_SUBJECTS)], *right[:-1]))
        truth.append((f"q{number + 1}", right[-1]))
    header = ",".join(["question", "subject", *(f"model-{k + 1}" for k in range(_EARLIER))])
    loop = "hutch estimate {}/answers.csv --new mine --by subject --judged {}/judged.csv"
    return Demonstration(
        {"answers.csv": table(header, answers), "truth.csv": table("question,mine", truth), "fill_in.py": _FILL_IN},
        (
            ("Which of the 1,200 questions should be judged for the new model?", loop),
            ("The column `mine` is filled in; here the answers are known", "python {}/fill_in.py"),
            (
                "How good is the new model, and which questions are next? Fill in and run it again",
                loop,
            ),
            ("Is it better than the deployed model-7?", f"{loop} --against model-7 --ask 0"),
        ),
    )


def _answer(random: Random, model: tuple[float, ...], ease: float, needs: list[float]) -> int:
    """Whether a model is right."""
    t = model[0] + ease + sum(skill * need for skill, need in zip(model[1:], needs, strict=True))
    return int(random.random() < 1 / (1 + math.exp(-t)))
