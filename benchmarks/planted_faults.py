"""The faults that `plant_faults.py` plants: what is right in a file, and what stands there instead."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One small fault.

    Attributes:
        area: of `TESTS`.
        says: what is wrong.
        file: where.
        right: text that stands there once.
        wrong: what is written instead.
    """

    area: str
    says: str
    file: str
    right: str
    wrong: str


TESTS: dict[str, list[str]] = {
    "active": ["tests/reductions/active"],
    "chain": ["tests/core/chain", "tests/core/kernel/test_record.py"],
    "crowd": ["tests/crowd/models"],
    "crowd_em": ["tests/reductions/crowd_em"],
    "dyadic": ["tests/reductions/dyadic"],
    "em": ["tests/em/constrained", "tests/em/base"],
    "linear": ["tests/reductions/linear", "tests/core/loss"],
    "trees": ["tests/reductions/test_filter_tree.py", "tests/reductions/test_scoring_filter_tree.py"],
    "vw layers": ["tests/reductions/test_vw_reductions.py", "tests/reductions/test_chains.py"],
}
"""Areas, and the tests that are to notice a fault in them."""

_STEP, _RATES, _DYADIC = "reductions/dyadic/step.py", "reductions/dyadic/rates.py", "reductions/dyadic/kernels.py"
_TREE, _SCORING = "reductions/filter_tree.py", "reductions/scoring_filter_tree.py"
_LINEAR, _SIZES, _LOSSES = "reductions/linear/kernels.py", "reductions/linear/rates.py", "core/loss/kernels.py"
_ALL, _COSTS = "reductions/one_against_all.py", "reductions/cost_sensitive_one_against_all.py"
_TOURNAMENT, _GRAMS = "reductions/error_correcting_tournament.py", "reductions/ngrams.py"
_REWRITING = "core/kernel/rewriting.py"
_RANK, _MERGE = "reductions/low_rank_quadratic.py", "reductions/merge_namespaces.py"
_RULES, _DECISION = "reductions/active/rules.py", "reductions/active/decision.py"
_MEMORY, _ACTIVE = "reductions/active/memory.py", "reductions/active/layer.py"
_BLOCK, _ANCHOR = "reductions/crowd_em/block.py", "reductions/crowd_em/anchor.py"
_NOMINAL, _STREAM = "crowd/models/nominal_stream.py", "crowd/models/two_level_stream.py"
_BOUNDARY, _ENGINE, _REDUCTION = "em/constrained/boundary.py", "core/chain/engine.py", "core/chain/reduction.py"

FAULTS: tuple[Fault, ...] = (
    Fault("active", "the budget rule squares instead of taking the fourth power", _RULES,
          "found = (ratio * ratio) * (ratio * ratio)", "found = ratio * ratio"),
    Fault("active", "no floor", _RULES, "return min(1.0, max(floor, found))", "return min(1.0, found)"),
    Fault("active", "iwal's probability is not squared", _RULES, "rate * gap)) / (2.0 * gap)\n    return s * s",
          "rate * gap)) / (2.0 * gap)\n    return s"),
    Fault("active", "the cutoff does not catch up with what was spent", _DECISION,
          "wanted = max(s.floor, s.fraction + drift)", "wanted = max(s.floor, s.fraction)"),
    Fault("active", "predicting counts as a decision", _DECISION, "    if not frozen:\n        progress.seen",
          "    if True:\n        progress.seen"),
    Fault("active", "bought labels are not weighed by 1 / P in the estimate", _DECISION,
          "progress.errors += w * error * inverse", "progress.errors += w * error"),
    Fault("active", "the newest example is forgotten instead of the oldest", _MEMORY,
          "return kept_of(memory.table + ((memory.first + number)", "return kept_of(memory.table + ((number)"),
    Fault("active", "what is replayed has importance 1", _MEMORY, "    return entry.label, entry.importance",
          "    return entry.label, np.float32(1)"),
    Fault("active", "iwal learns with importance 1", _ACTIVE,
          "weight = importance * inverse if s.weighted == uint64(1) else importance",
          "weight = importance"),
    Fault("chain", "held-out examples are learned", "core/chain/driver.py",
          "if learning and labeled and weight > 0 and not held_out:", "if learning and labeled and weight > 0:"),
    Fault("chain", "held-out loss counts as progressive loss", "core/chain/driver.py",
          "        shared.sum_loss_holdout += e.loss\n        return",
          "        shared.sum_loss += e.loss\n        return"),
    Fault("chain", "an example without importance is learned", "core/chain/driver.py",
          "labeled and weight > 0 and not held_out", "labeled and not held_out"),
    Fault("chain", "ignored namespaces are those kept", "core/chain/driver.py", "if listed == (r.inverse != 0) or",
          "if listed != (r.inverse != 0) or"),
    Fault("chain", "a layer's saved arrays are left out", _ENGINE,
          "        for k, layer in enumerate(self.layers):\n            for name, array in saved_of(layer)",
          "        for k, layer in enumerate(self.layers[:1]):\n            for name, array in saved_of(layer)"),
    Fault("chain", "the layers above a base ask for no rows", _ENGINE, "submodels=math.prod(widths[:k]),",
          "submodels=1,"),
    Fault("chain", "a kernel that a layer below lacks is offered", _REDUCTION,
          "return None if own or self.context.below is None else self.context.below.lacking(name)", "return None"),
    Fault("chain", "a record forgets what it points to", "core/kernel/record.py",
          "self.array[name], self.targets[name] = value.ctypes.data, value", "self.array[name] = value.ctypes.data"),
    Fault("crowd", "eta is counted from the item before", _NOMINAL,
          "eta = rate * (initial_t + counters[TIME]) ** -decay",
          "eta = rate * (initial_t + counters[TIME] - 1.0) ** -decay"),
    Fault("crowd", "the largest step of a slot does not shrink", _NOMINAL,
          "own_eta = min(eta, largest / math.sqrt(met[slot]))", "own_eta = min(eta, largest)"),
    Fault("crowd", "difficulty does not weigh a worker's step", _NOMINAL, "weight = own_eta * q[k] * beta",
          "weight = own_eta * q[k]"),
    Fault("crowd", "distances from the ghost do not shrink", _NOMINAL,
          "prior[DISTANCES, k, label] = shrink * distances", "prior[DISTANCES, k, label] = distances"),
    Fault("crowd", "later passes of the two-level stream keep all counts", _STREAM,
          "    return 1.0 - step, step * mass", "    return 1.0, step * mass"),
    Fault("crowd", "habits are not shrunk", _STREAM, "        habits[k] *= keep\n", "        habits[k] *= 1.0\n"),
    Fault("crowd_em", "evidence of the labels is left out of the posterior's likelihood", _BLOCK,
          "    evidence += end_posterior(q)\n    for k in range(classes):\n        likelihood[k]",
          "    end_posterior(q)\n    for k in range(classes):\n        likelihood[k]"),
    Fault("crowd_em", "an item's own labels are not taken out of its scores", _BLOCK, "shifted[k] -= shifts[k]",
          "shifted[k] -= np.float32(0)"),
    Fault("crowd_em", "a block's importance is that of the block before", _BLOCK,
          "s.count, s.truth, s.importance = 0, -1, _0", "s.count, s.truth = 0, -1"),
    Fault("crowd_em", "stored tables are mixed without forgetting", _ANCHOR,
          "shares[r] = (1.0 - _SHARE) * shares[r] / total + _SHARE / used", "shares[r] = shares[r] / total"),
    Fault("crowd_em", "old rows are not capped", _ANCHOR, "factor = min(rows[k], cap) / max(rows[k], _TINY)",
          "factor = 1.0"),
    Fault("dyadic", "fast step without its clamp at the optimum", _STEP, "if not sign * (q - best) >= 0.0:",
          "if False:"),
    Fault("dyadic", "the partner's variance is left out of the decay", _RATES, "strength = metric[k ^ 1] + prior",
          "strength = prior"),
    Fault("dyadic", "the pace never slows", "reductions/dyadic/layer.py",
          'learned["pace"] = 1.0 / (1.0 + 0.1 * float(self.context.shared["pass"][0]))', 'learned["pace"] = 1.0'),
    Fault("dyadic", "the prior of a factor is not spread over its examples", _RATES,
          "prior = learned.noise * state.precision / count_with(weights, at, h)",
          "prior = learned.noise * state.precision"),
    Fault("dyadic", "the variance of the product is left out of the scale", _DYADIC,
          "state.scale = learned.pace / (noise + variance)", "state.scale = learned.pace / noise"),
    Fault("dyadic", "adaptive rates forget the slope of the loss", _RATES,
          "add(weights, at, square if posterior else square * slope * slope)",
          "add(weights, at, square if posterior else square)"),
    Fault("dyadic", "importance does not count for certainty", _RATES,
          "square = np.float64(values[i]) * np.float64(values[i]) * h\n            gain",
          "square = np.float64(values[i]) * np.float64(values[i])\n            gain"),
    Fault("dyadic", "sides are not balanced", _DYADIC,
          "q = math.sqrt(math.sqrt(beta / alpha)) if alpha != beta else 1.0", "q = 1.0"),
    Fault("dyadic", "the second half of the decay is left out", _DYADIC,
          "        call(state.move_bag, state.self, example, _0, importance, state.offset)\n    if state.decay "
          "!= _NOTHING:",
          "        call(state.move_bag, state.self, example, _0, importance, state.offset)\n    if False:"),
    Fault("dyadic", "the linear part of h_min is not scaled", _STEP,
          "return linear_effort_(kind, p, target, y) / (eta * X)", "return linear_effort_(kind, p, target, y) / eta"),
    Fault("dyadic", "expectile steps forget tau", _STEP,
          "    if kind == KIND_EXPECTILE:\n        E *= tau if p < y else 1.0 - tau\n    c, d",
          "    if kind == KIND_EXPECTILE:\n        E *= 1.0\n    c, d"),
    Fault("em", "a row may open two classes", _BOUNDARY, "b.last == e.number + uint64(1)", "b.last == uint64(0)"),
    Fault("em", "the first row opens a class", _BOUNDARY, "if b.known == 1 and key != b.key:", "if key != b.key:"),
    Fault("linear", "regularisation is lost when it is written out", _LINEAR,
          "weights[at] = _shrunk(weights[at], gravity) * contraction", "weights[at] = _shrunk(weights[at], gravity)"),
    Fault("linear", "gravity does not move on", _LINEAR, "regularization[1] += step * np.float64(state.l1)",
          "regularization[1] += 0.0"),
    Fault("linear", "h_min takes rates from before the step", _LINEAR,
          "norm = _hypothetical_norm(state, example, target, label, _1, offset)",
          "norm = _hypothetical_norm(state, example, prediction, label, _1, offset)"),
    Fault("linear", "unlabelled importance moves the clock", _LINEAR,
          "time = shared.time + importance - shared.weighted_holdout - shared.weighted_unlabeled",
          "time = shared.time + importance - shared.weighted_holdout"),
    Fault("linear", "a label without importance does not widen the range", _LINEAR,
          "    if not importance > _0:\n        widen(shared, label)\n", ""),
    Fault("linear", "the mean norm ignores importance", _SIZES,
          "norms[0] += np.float64(importance) * np.float64(norm)", "norms[0] += np.float64(norm)"),
    Fault("linear", "a grown feature's weight is not rescaled", _SIZES,
          "weights[at] = _rescaled(weights[at], scale, size, kind, power)", "weights[at] = weights[at]"),
    Fault("linear", "the last feature of a long example is left out of the sum", _SIZES,
          "    for i in range(n):\n        no_unroll()\n        total += squares[i]",
          "    for i in range(n - uint64(1)):\n        no_unroll()\n        total += squares[i]"),
    Fault("linear", "squared loss has no tangent beyond the labels", _LOSSES,
          "excess = abs(y - bound), abs(bound - p)", "excess = abs(y - bound), np.float32(0)"),
    Fault("linear", "hinge steps go beyond the margin", _LOSSES, "return y * (s if s * q < gap else gap / q)",
          "return y * s"),
    Fault("trees", "importance is dropped from the costs", _TREE,
          "weight = importance * abs(costs[left] - costs[right])", "weight = abs(costs[left] - costs[right])"),
    Fault("trees", "a class that loses climbs on", _TREE,
          "if following < 0 or (_score_again(layer, example, match, offset) > 0.0) != right:", "if following < 0:"),
    Fault("trees", "who is predicted is found after learning", _TREE, "            score = before[count]\n",
          "            score = _score(layer, example, match, offset)\n"),
    Fault("trees", "classes that are not listed compete", _TREE,
          "costs[:] = _INFINITE if e.cost_count > uint64(0) else _0", "costs[:] = _0"),
    Fault("trees", "the champion's cost is not compared with the least", _TREE,
          "np.float64(costs[winner] - least) if least", "np.float64(costs[winner]) if least"),
    Fault("trees", "the opponent's base has the wrong sign", _SCORING, "e.base = np.float32(-float64s_at(",
          "e.base = np.float32(float64s_at("),
    Fault("trees", "the winner always goes first", _SCORING, "elif e.number & uint64(1) == uint64(0):", "elif True:"),
    Fault("trees", "split steps are whole ones", _SCORING,
          "        _step(layer, example, winner, loser, _1, _HALF * importance, offset)\n        _step(layer, "
          "example, loser, winner, -_1, importance, offset)\n",
          "        _step(layer, example, winner, loser, _1, importance, offset)\n        _step(layer, example, "
          "loser, winner, -_1, importance, offset)\n"),
    Fault("trees", "h_min of split steps is that of one score", _SCORING, "_1 / (_1 / up + _1 / down)", "up"),
    Fault("vw layers", "the first of equal classes loses", _ALL, "if predictions[k] > predictions[best]:",
          "if predictions[k] >= predictions[best]:"),
    Fault("vw layers", "probabilities do not add up to 1", _ALL, "            scores[k] *= scale",
          "            scores[k] *= _1"),
    Fault("vw layers", "a soft label teaches one of its two halves", _ALL, "    if share < _1:\n", "    if False:\n"),
    Fault("vw layers", "classes without a cost are learned", _COSTS,
          "e.importance = _0 if costs[j] == UNLABELED else importance", "e.importance = importance"),
    Fault("vw layers", "losers of a tournament do not enter the next", _TOURNAMENT,
          "coming = here.winner_to if wins else here.loser_to", "coming = here.winner_to if wins else 0"),
    Fault("vw layers", "finals count alike", _TOURNAMENT, "e.importance = np.float32(1 << (state.height - i - 1))",
          "e.importance = _1"),
    Fault("vw layers", "grams begin one feature late", _GRAMS, "for i in range(first, last - gram[parts]):",
          "for i in range(first + 1, last - gram[parts]):"),
    Fault("vw layers", "grams are left in the example", _REWRITING,
          "    prediction = learn_next(layer, example, label, importance, offset)\n    show(e, read)\n",
          "    prediction = learn_next(layer, example, label, importance, offset)\n"),
    Fault("vw layers", "merged namespaces lose their second part", _MERGE, "        for k in range(j, count):",
          "        for k in range(j, j + 1):"),
    Fault("vw layers", "both sides of a low-rank pair do not take turns", _RANK,
          "turn = int64((state.seen + uint64(1)) % uint64(2))", "turn = int64(0)"),
    Fault("vw layers", "dropout keeps all latent features when it learns", _RANK, "if not draw > 0.5:",
          "if not draw > -1.0:"),
    Fault("vw layers", "a logistic link is inverted without its odds", "reductions/link.py",
          "return math.log(share / (_1 - share)) if", "return math.log(share) if"),
    Fault("vw layers", "0 is a positive decision", "reductions/binary.py", "sign = _1 if below > _0 else -_1",
          "sign = _1 if below >= _0 else -_1"),
)  # fmt: skip
