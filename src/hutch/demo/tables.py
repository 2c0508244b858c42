"""A table of customers in the order of time, with numbers, words and missing cells."""

from math import exp
from random import Random

from hutch.demo.demonstration import Demonstration, numbered, table

_PLANS = {"basic": 0.3, "plus": 0.0, "business": -0.8}
_COUNTRIES = {"DE": 0.0, "FR": 0.3, "US": 0.5, "JP": -0.6}
_HEADER = "customer,plan,country,monthly_fee,open_tickets,months,logins_last_month,churned"
_CUSTOMERS, _NEW = 4_000, 20


def make() -> Demonstration:
    """4,000 customers of whom it is known whether they stayed, and 20 of whom it is not."""
    random = Random(3)
    rows = [_customer(random, name) for name in numbered(random, 20_001, _CUSTOMERS + _NEW, "c")]
    known, new = rows[:-_NEW], [row[:-1] for row in rows[-_NEW:]]
    return Demonstration(
        {
            "customers.csv": table(_HEADER, known),
            "new.csv": table(_HEADER.removesuffix(",churned"), new),
        },
        (
            (
                "Who leaves? One pass, each customer predicted before it is learned.",
                "hutch train {}/customers.csv --label churned --classes no,yes -f {}/churn.model",
            ),
            ("What of the twenty new ones?", "hutch predict {}/new.csv -i {}/churn.model -p - --quiet"),
            ("What did it learn?", "hutch inspect {}/churn.model"),
        ),
    )


def _customer(random: Random, name: str) -> tuple[object, ...]:
    plan, country = random.choice(list(_PLANS)), random.choice(list(_COUNTRIES))
    fee = round({"basic": 9, "plus": 19, "business": 79}[plan] * random.uniform(0.8, 1.2), 2)
    tickets, months, logins = random.choice((0, 0, 0, 1, 1, 2, 5)), random.randint(1, 60), random.randint(0, 40)
    score = -0.4 + _PLANS[plan] + _COUNTRIES[country] + 0.5 * tickets - 0.03 * months - 0.06 * (logins - 15)
    churned = "yes" if random.random() < 1 / (1 + exp(-score)) else "no"
    return name, plan, country, fee, tickets, months, "" if random.random() < 0.05 else logins, churned
