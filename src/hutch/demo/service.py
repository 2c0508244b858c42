"""A model in service: messages to sort, and the requests that a program sends."""

from random import Random

from hutch.core.strict_json import dumps
from hutch.demo.demonstration import Demonstration

_WORDS = {
    "billing": ("charged", "invoice", "refund", "card", "twice", "price"),
    "login": ("password", "locked", "code", "sign", "reset", "account"),
    "bug": ("crash", "error", "freezes", "blank", "update", "slow"),
}
_OTHERS = ("my", "the", "app", "please", "help", "since", "yesterday", "again", "still", "hello")
_MESSAGES = 3_000

_CHAIN = """\
# Three classes; words of the text are features.
input:
  columns: {label: label, text: [text], classes: [billing, login, bug]}
chain:
  - one_against_all: {classes: 3}
  - linear: {loss: logistic}
"""


def make() -> Demonstration:
    """3,000 messages with their labels, and a chain for them."""
    random = Random(4)
    messages = "".join(f"{dumps(_message(random))}\n" for _ in range(_MESSAGES))
    asked, told = '{"text": "charged twice, refund please"}', '{"text": "the app freezes", "label": "bug"}'
    kind = "-H 'Content-Type: application/json'"
    return Demonstration(
        {"messages.jsonl": messages, "triage.yaml": _CHAIN},
        (
            ("Learn.", "hutch train {}/messages.jsonl -C {}/triage.yaml -f {}/triage.model --quiet --json"),
            ("Serve it, in a terminal of its own.", "hutch serve {}/triage.model --port 8080"),
            ("Ask.", f"curl -s {kind} -d '{asked}' http://127.0.0.1:8080/v1/predict"),
            ("Teach; the answer comes when it is safe on disk.",
             f"curl -s {kind} -d '{told}' http://127.0.0.1:8080/v1/learn"),
        ),
    )  # fmt: skip


def _message(random: Random) -> dict[str, str]:
    label = random.choices(list(_WORDS), (5, 3, 2))[0]
    words = [random.choice(_WORDS[label]) for _ in range(random.randint(1, 3))]
    if random.random() < 0.2:
        words.append(random.choice(_WORDS[random.choice(list(_WORDS))]))
    words += [random.choice(_OTHERS) for _ in range(random.randint(2, 6))]
    random.shuffle(words)
    return {"text": " ".join(words), "label": label}
