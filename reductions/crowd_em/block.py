"""The last line of a block in `crowd_em`: predict, weigh the labels, learn."""

import numpy as np
from numpy import float32, int64, uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    predict_next,
    submodel,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.soft_label import learn_soft_next
from hutch.crowd.models.two_level_kernels import begin_posterior, end_posterior
from hutch.crowd.models.two_level_stream import ITEMS, LABELS, REFRESH, learn_item, likelihoods, stream_priors
from hutch.em.constrained.record import constraint_of
from hutch.reductions.crowd_em.anchor import anchors_of, put_aside, renew_all, show_anchored, show_read, take_back
from hutch.reductions.crowd_em.prior import probabilities, soft_label, temper, weigh_evidence
from hutch.reductions.crowd_em.state import crowd_at, crowd_em_of, half_of, take_features

_FORGET = 0.995  # weights of the powers remember about 200 items
_0, _1 = np.float32(0), np.float32(1)


@helper
def _scores(layer, s, learner, offset):
    """The scores of one of the learners below, in the layer's memory."""
    predict_next(layer, s.example, UNLABELED, _1, submodel(layer, offset, learner))
    return float32s_at(s.scores, uint64(s.classes))


@helper
def _teach(layer, s, learner, importance, offset):
    """Let one of the learners below learn the target."""
    below = submodel(layer, offset, learner)
    learn_soft_next(layer, s.example, s.target, s.classes, importance, below, s.soft_labels)


@helper
def _opinion(layer, s, half, learning, offset):
    """Probabilities of the item's class, from a learner that has not learned from the item's own labels."""
    classes = uint64(s.classes)
    scores = float32s_at(s.scores, classes)
    shifted = float32s_at(s.shifted, classes)
    again = learning and s.passes > 1 and s.pass_number > 1
    if not learning:
        scores = _scores(layer, s, s.student if s.taught > 0 else 0, offset)
    elif again and s.crossfit == 1:
        scores = _scores(layer, s, 2 - half, offset)
    else:
        scores = _scores(layer, s, 0, offset)
    copy(scores, shifted)
    if again and s.crossfit == 0:
        shifts = float32s_at(s.shifts + uint64(4) * classes * uint64(s.item), classes)
        for k in range(classes):
            shifted[k] -= shifts[k]
    probabilities(shifted, float64s_at(s.p, classes))


@helper
def _train(layer, s, half, importance, offset):
    """Train the learners below; store the change of the item's scores if the item will be met again."""
    classes = uint64(s.classes)
    if s.passes == 1 or s.crossfit == 1:
        _teach(layer, s, 0, importance, offset)
        if s.crossfit == 1 and s.passes > 1:
            _teach(layer, s, 1 + half, importance, offset)
        return
    shifts = float32s_at(s.shifts + uint64(4) * classes * uint64(s.item), classes)
    copy(_scores(layer, s, 0, offset), shifts)
    _teach(layer, s, 0, importance, offset)
    after = _scores(layer, s, 0, offset)
    for k in range(classes):
        shifts[k] = after[k] - shifts[k]


@helper
def _count_votes(s, labels):
    """Vote shares of the block; all on the gold class if it is known, even without labels."""
    classes = uint64(s.classes)
    votes = float64s_at(s.votes, classes)
    votes[:] = 0.0 if s.truth >= 0 or s.count > 0 else 1.0 / s.classes
    if s.truth >= 0:
        votes[s.truth] = 1.0
    elif s.count > 0:
        for label in labels:
            votes[label] += 1.0 / s.count
    return votes


@helper
def _infer(layer, s, crowd, slots, labels, has_features, half, learning, offset):
    """E step of the block, into q; also its likelihood, and the learner's opinion and the prior before the labels."""
    classes = uint64(s.classes)
    q, prior = float64s_at(s.q, uint64(2) * classes), float64s_at(s.prior, classes)
    class_prior, levels = float64s_at(s.class_prior, classes), float64s_at(s.levels, uint64(2))
    likelihood, own = float64s_at(s.likelihood, classes), float64s_at(s.own, classes)
    p, work = float64s_at(s.p, classes), float64s_at(s.work, uint64(4) * classes)
    stream_priors(
        float64s_at(s.class_counts, classes), float64s_at(s.level_counts, uint64(2)), own[:0], class_prior, levels
    )
    prior[:] = 1.0
    begin_posterior(prior, levels, s.truth, s.classes, q)
    touches, seen = float64s_at(s.touches, uint64(s.slots)), float64s_at(s.seen, uint64(s.slots))
    show_anchored(s.anchors, slots, crowd, s.classes, touches, seen, learning)
    evidence = likelihoods(slots, labels, s.classes, crowd, own, work[: s.classes], q)
    if not learning:
        show_read(s.anchors, slots, crowd, s.classes, touches)
    evidence += end_posterior(q)
    for k in range(classes):
        likelihood[k] = q[k] + q[uint64(k) + classes]
    copy(class_prior, p)
    copy(class_prior, prior)
    if has_features:
        powers = uint64(s.powers)
        _opinion(layer, s, half, learning, offset)
        temper(
            p, class_prior, float64s_at(s.powers_given, powers), float64s_at(s.log_weights, powers),
            float64s_at(s.by_power, powers * classes), prior,
        )  # fmt: skip
    for k in range(classes):
        q[k] *= prior[k]
        q[uint64(k) + classes] *= prior[k]
    evidence += end_posterior(q)
    if s.anchors != uint64(0) and len(slots) > 0:
        constraint_of(anchors_of(s.anchors).constraint).score = evidence / len(slots)
    return q


@helper
def _learn(layer, s, crowd, slots, labels, votes, has_features, half, offset):
    """M step: the crowd and the learner, or after the last pass that infers only the student."""
    classes = uint64(s.classes)
    q, target = float64s_at(s.q, uint64(2) * classes), float32s_at(s.target, classes)
    likelihood, clock = float64s_at(s.likelihood, classes), float64s_at(s.clock, uint64(4))
    if s.pass_number > s.passes:
        if has_features:
            for k in range(classes):
                target[k] = q[k] + q[uint64(k) + classes]
            _teach(layer, s, s.student, s.importance, offset)
            s.taught += 1
        return
    first_pass = s.pass_number == 1
    schedule = float64s_at(s.schedule, uint64(3))
    if has_features:
        powers = uint64(s.powers)
        weigh_evidence(
            float64s_at(s.by_power, powers * classes), likelihood, _FORGET, float64s_at(s.log_weights, powers)
        )
        share = schedule[1] / (schedule[1] + clock[ITEMS]) if first_pass and schedule[1] > 0.0 else 0.0
        soft_label(float64s_at(s.p, classes), likelihood, votes, max(share, s.vote_share), target)
    touches, seen = float64s_at(s.touches, uint64(s.slots)), float64s_at(s.seen, uint64(s.slots))
    if clock[LABELS] + len(slots) >= clock[REFRESH]:  # the step will estimate the skills common to all workers
        renew_all(s.anchors, crowd, s.classes, touches, seen)
    put_aside(s.anchors, slots, crowd, s.classes)
    learn_item(
        slots, labels, votes, crowd, touches, seen,
        float64s_at(s.class_counts, classes), float64s_at(s.level_counts, uint64(2)), clock, first_pass, schedule,
        float64s_at(s.own, classes), float64s_at(s.work, uint64(4) * classes), q,
    )  # fmt: skip
    take_back(s.anchors, slots, labels, crowd, s.classes, touches, seen, schedule[0], q)
    if has_features:
        _train(layer, s, half, s.importance, offset)


@helper
def finish_block(layer, example, learning, offset):
    """The last line of a block: predict, then learn; returns the most probable class."""
    s, e = crowd_em_of(layer), example_of(example)
    crowd = crowd_at(s)
    slots, labels = int64s_at(s.block_slots, uint64(s.count)), int64s_at(s.block_labels, uint64(s.count))
    votes, has_features = _count_votes(s, labels), take_features(s, example)
    half = half_of(s) if s.crossfit == 1 else 0
    q = _infer(layer, s, crowd, slots, labels, has_features, half, learning, offset)
    classes = s.classes
    p, best, foreseen = float64s_at(s.p, uint64(classes)), 0, 0
    for k in range(classes):
        if q[k] + q[classes + k] > q[best] + q[classes + best]:
            best = k
        if p[k] > p[foreseen]:
            foreseen = k
    known = s.count > 0 or s.truth >= 0
    e.features, e.raw = example_of(s.example).features, float32(q[best] + q[classes + best])
    e.importance = s.importance if known else e.importance
    e.loss = e.importance * (1.0 - q[foreseen] - q[classes + foreseen]) if known else 0.0
    if e.scores != uint64(0) and int64(e.score_count) >= classes:
        scores = float32s_at(e.scores, uint64(classes))
        for k in range(classes):
            scores[k] = q[k] + q[classes + k]
    if learning:
        if known:
            _learn(layer, s, crowd, slots, labels, votes, has_features, half, offset)
        s.item += 1
    s.count, s.truth, s.importance = 0, -1, _0
    return float32(best + 1)
