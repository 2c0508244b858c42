"""Interaction-grounded learning: a decoder in plain Python, what decisions teach, and what is refused."""

import math
import random
from collections import defaultdict

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.interaction_grounded import InteractionGrounded
from hutch.vw.json.reader import JsonReader
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

BELOW = [{"explore_epsilon": {"epsilon": 0.2}}, "contextual_bandit", "cost_sensitive_with_features"]
COIN = {"coin_betting": {"interactions": ["ua"], "alpha": 3.0}}


def chain_of_layers(*layers):
    return Chain.from_config({"chain": [*layers, *BELOW, COIN], "input": {"namespaces": "letter", "constant": False}})


def grounded(**parameters):
    return chain_of_layers({"interaction_grounded": parameters} if parameters else "interaction_grounded")


def block(user, shared="", chosen=None, cost=0, probability=0.5):
    label = {chosen: f"0:{cost}:{probability} "}
    return f"shared |u u{user} {shared}\n" + "".join(f"{label.get(a, '')}|a a{a}\n" for a in range(3)) + "\n"


def feedback_of(draw, right):
    word = draw.choice(["click", "click", "none"]) if right else draw.choice(["skip", "skip", "none"])
    return f"|feedback {word}" + (" |bad yes" if word == "skip" else "")


class Decoder:
    """Coin betting on the product of user, action and word, and on each of them."""

    def __init__(self):
        self.sums = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])  # z, sizes, wealth, steepest
        self.norm = self.importance = 0.0

    def learn(self, names, label, importance):
        bets = {}
        for name in names:
            z, sizes, won, steepest = self.sums[name]
            bets[name] = (3.0 + won) / (steepest * (steepest + sizes)) * z if steepest else 0.0
        self.norm += importance * len(names)
        self.importance += importance
        score = sum(bets.values()) / (self.norm / self.importance)
        slope = -label / (1 + math.exp(label * score)) * importance
        for name in names:
            sums = self.sums[name]
            if abs(slope) > sums[3]:
                sums[3] = max(abs(slope), 1.0)
            bet = (3.0 + sums[2]) / (sums[3] * (sums[3] + sums[1])) * sums[0]
            sums[0] -= slope
            sums[1] += abs(slope)
            sums[2] -= slope * bet
        return score


def test_the_policy_learns_the_costs_that_a_decoder_in_python_finds():
    draw, decoder, chain, policy, costs = random.Random(4), Decoder(), grounded(), chain_of_layers(), set()
    for _ in range(150):
        user = draw.randrange(3)
        p = chain.predict([block(user)])
        chosen = draw.choices(range(3), p)[0]
        seen = feedback_of(draw, (chosen + user) % 3 == 0)
        word, score = seen.split()[1], 0.0
        for a in range(3):
            importance = 0.25 / p[a] if a == chosen else 0.75 / (1 - p[a])
            names = (f"u{user}", f"a{a}", word, (user, a), (user, a, word))
            found = decoder.learn(names[:3] + names[4:], 1 if a == chosen else -1, float(importance))
            score = found if a == chosen else score
        assert abs(score) > 1e-6 or score == 0  # else its sign might depend on rounding
        cost = (2 if "bad" in seen else -1) if score > 0 else 0
        costs.add(cost)
        assert np.array_equal(policy.predict([block(user)]), p)
        chain.learn([block(user, seen, chosen, 0, p[chosen])])
        policy.learn([block(user, "", chosen, cost, p[chosen])])
    assert costs == {-1, 0, 2}


@pytest.mark.parametrize("seed", range(2))
def test_right_actions_are_chosen_without_any_reward(seed):
    draw, chain, right = random.Random(seed), grounded(), 0
    for k in range(900):
        user = draw.randrange(3)
        p = chain.predict([block(user)])
        chosen = draw.choices(range(3), p)[0]
        good = (chosen + user) % 3 == 0
        right += good and k >= 600
        chain.learn([block(user, feedback_of(draw, good), chosen, 0, p[chosen])])
    assert right > 0.75 * 300  # 0.87 if it were certain, 0.33 by chance


def test_predictions_do_not_see_what_was_observed():
    chain = grounded()
    chain.learn([block(k % 3, f"|feedback w{k % 2}", k % 3) for k in range(60)])
    plain = chain.predict([block(1)])
    assert np.array_equal(chain.predict([block(1, "|feedback w1 |bad yes")]), plain)
    assert np.array_equal(chain.predict([block(1, "|feedback w1", 0)]), plain)
    assert plain.max() > 0.8


def test_feedback_may_stand_anywhere_on_the_line():
    first, last, names = grounded(), grounded(), grounded(feedback="seen", bad="wrong")
    for k in range(40):
        word, chosen = f"w{k % 2}:0.5 x", k % 3
        bad = "|{} yes" if k % 4 == 0 else ""
        text = block(k % 3, f"|zone z{k % 2}", chosen)
        last.learn([text.replace(f"z{k % 2}", f"z{k % 2} |feedback {word} {bad.format('bad')}")])
        first.learn([text.replace("shared |u", f"shared {bad.format('bad')} |feedback {word} |u")])
        names.learn([text.replace("shared |u", f"shared {bad.format('wrong')} |seen {word} |u")])
    assert first.layers[0].saved() == names.layers[0].saved()
    assert last.layers[0].saved()["importance"] == first.layers[0].saved()["importance"]


def test_the_loss_of_a_test_is_that_of_the_decoded_cost():
    chain, losses = grounded(), {}
    chain.learn([block(k % 3, "|feedback " + ("click" if k % 3 == 0 else "none"), k % 3) for k in range(200)])
    for word in ("click", "none"):
        [batch] = chain.batches([block(0, f"|feedback {word}", 0)])
        found, _ = chain.run_batch(batch, learn=False)
        losses[word] = found.losses[0]
    share = chain.predict([block(0)])[0]
    assert losses == {"click": np.float32(-share / np.float32(0.5)), "none": 0}


def test_choices_that_the_policy_would_never_make_are_said():
    below = [{"explore_epsilon": {"epsilon": 0}}, *BELOW[1:], "coin_betting"]
    chain = Chain.from_config({"chain": ["interaction_grounded", *below]})
    chain.learn([block(1, "|feedback click", 0)] * 31)
    assert chain.predict([block(1)]).max() == 1
    with pytest.warns(UserWarning, match="interaction_grounded.*4 actions with a probability of 0 or 1"):
        chain.learn([block(1, "|feedback click", 1)] * 2)
    assert np.isfinite(chain.weights).all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="interaction_grounded: got the learner linear, wanted coin_betting"):
        Chain.from_config({"chain": ["interaction_grounded", *BELOW, "linear"]})
    with pytest.raises(ConfigError, match="got the namespace 'v' for feedback and for bad, wanted two"):
        grounded(feedback="v", bad="v")
    long = {"coin_betting": {"interactions": ["abcdefgh"]}}
    with pytest.raises(ConfigError, match="got interactions of 8 namespaces, wanted fewer"):
        Chain.from_config({"chain": ["interaction_grounded", *BELOW, long], "input": {"namespaces": "letter"}})
    for words, said in (
        ("--experimental_igl --coin", "wanted --dsjson"),
        ("--experimental_igl --dsjson", "wanted --coin"),
        ("--experimental_igl --dsjson --coin --ccb_explore_adf", "got --experimental_igl and --ccb_explore_adf"),
    ):
        with pytest.raises(UsageError, match=said):
            chain_of(parse(words.split()))


LOG = (
    b'{"_label_cost":0,"_label_probability":0.5,"_label_Action":1,"_labelIndex":0,"o":[%s],"a":[1,2],'
    b'"c":{"User":{"u":1},"_multi":[{"A":{"x":1}},{"A":{"y":1}}]},"p":[0.5,0.5]}\n'
)


def read(line, compiled):
    options = ParserOptions(namespaces="letter", label="logged_action")
    reader, parser = JsonReader(options, log=True, chained=False, observed=("\x7f", "b")), TextParser(options)
    reader._compiled = compiled
    batch = reader.parse(line, parser)
    spaces = {}
    if not len(batch):
        return spaces, [str(problem) for problem in parser.problems.kept]
    for k in range(int(batch.row_namespaces[0]), int(batch.row_namespaces[1])):
        start, stop = batch.namespace_ptr[k : k + 2]
        spaces[chr(batch.namespace_id[k])] = sorted(
            zip(batch.indices[start:stop], batch.values[start:stop], strict=True)
        )
    return spaces, [str(problem) for problem in parser.problems.kept]


@pytest.mark.parametrize(
    ("observed", "count", "bad"),
    [
        (b'{"v":{"k":1},"_definitely_bad":false}', 1, False),
        (b'{"v":{"k":1,"j":"x"},"w":{"z":2},"_definitely_bad":true}', 3, True),
        (b'{"v":{"k":1}},{"v":"text","n":0.5}', 3, False),
        (b"", 0, False),
        (b"{}", 0, False),
    ],
)
def test_feedback_of_logs(observed, count, bad):
    (spaces, problems), python = read(LOG % observed, True), read(LOG % observed, False)
    assert (spaces, problems) == python and not problems
    assert len(spaces.get("\x7f", [])) == count and ("b" in spaces) == bad
    assert [len(spaces[name]) for name in "U"] == [1]


@pytest.mark.parametrize(
    ("observed", "said"),
    [
        (b'{"v":{"k":1},"_definitely_bad":1}', "got '_definitely_bad: 1', wanted true or false"),
        (b"3", "wanted a list of objects"),
        (b'{"v":{"k":1e999}}', "got 'inf', wanted a number"),
    ],
)
def test_malformed_feedback_is_reported(observed, said):
    for compiled in (True, False):
        spaces, problems = read(LOG % observed, compiled)
        assert not spaces and len(problems) == 1 and said in problems[0]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"feedback": "right", "bad_cost": 1.0}], ids=str)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(InteractionGrounded, parameters):
        check()
