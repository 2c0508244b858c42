"""The two-level model of one item after another without features: what `crowd_em` does with the labels alone."""

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.crowd.models import two_level_kernels as kernels
from hutch.crowd.models.online import Progress, hash_workers
from hutch.crowd.models.two_level import TwoLevelParameters, crowd_of, empty_crowd, level_prior
from hutch.crowd.models.two_level_kernels import begin_posterior, end_posterior, fit_strengths
from hutch.crowd.models.two_level_stream import FIRST_REFRESH, REFRESH, learn_item, likelihoods, stream_priors

DECAY = 0.8


@compiled
def learn_items(
    item_ptr, slots, labels, gold, votes, fixed_prior, crowd, touches, seen, class_counts, level_counts, clock,
    first_pass, schedule, objectives, posteriors,
):  # fmt: skip
    """Read, score and learn every item in order."""
    classes = len(class_counts)
    own, q, scratch = np.zeros(classes), np.empty(2 * classes), np.empty(4 * classes)
    prior, levels = np.empty(classes), np.empty(2)
    for item in range(len(item_ptr) - 1):
        block = slice(item_ptr[item], item_ptr[item + 1])
        stream_priors(class_counts, level_counts, fixed_prior, prior, levels)
        begin_posterior(prior, levels, gold[item], classes, q)
        value = likelihoods(slots[block], labels[block], classes, crowd, own, scratch[:classes], q)
        objectives[item] = value + end_posterior(q)
        for k in range(classes):
            posteriors[item, k] = q[k] + q[classes + k]
        learn_item(
            slots[block], labels[block], votes[item], crowd, touches, seen, class_counts, level_counts, clock,
            first_pass, schedule, own, scratch, q,
        )  # fmt: skip


class ItemByItem:
    """One pass over items whose labels are all at hand."""

    def __init__(self, classes, slots, warm_up=500):
        self.state = empty_crowd(slots, classes, TwoLevelParameters(), None)
        self.slots, self.schedule = slots, np.array([DECAY, warm_up, TwoLevelParameters().class_anchor])
        self.touches, self.seen, self.clock = np.zeros(slots), np.zeros(slots), np.zeros(4)
        self.clock[REFRESH] = FIRST_REFRESH

    def learn(self, labels, first_pass):
        """Posteriors and log-likelihoods of all items, each before it is learned."""
        shape, shared = (labels.items, len(labels.classes)), self.state.shared
        progress = Progress(np.empty(labels.items), np.empty(shape))
        learn_items(
            labels.item_ptr, self.slots_of(labels), labels.labels, labels.gold, labels.vote_share(gold=True),
            np.zeros(0), crowd_of(self.state), self.touches, self.seen, shared["class_counts"], shared["level_counts"],
            self.clock, first_pass, self.schedule, progress.objective, progress.posterior,
        )  # fmt: skip
        return progress

    def slots_of(self, labels):
        return hash_workers(labels.worker_names, self.slots)[labels.workers]

    def score(self, labels):
        """Posteriors under freshly estimated strengths, which are not kept."""
        workers = self.state.workers | {"skill": self.state.workers["skill"].copy()}
        shared = {name: array.copy() for name, array in self.state.shared.items()}
        crowd = crowd_of(type(self.state)(labels.classes, [], workers, shared))
        classes = len(labels.classes)
        fit_strengths(crowd, classes, self.touches)
        q, prior = np.zeros((labels.items, 2 * classes)), shared["class_counts"] + 1
        kernels.expect(
            labels.item_ptr, self.slots_of(labels), labels.labels, labels.gold, (prior / prior.sum())[None],
            level_prior(self.state), classes, crowd, np.zeros(0), False, q,
        )  # fmt: skip
        return q[:, :classes] + q[:, classes:]

    def end_pass(self):
        fit_strengths(crowd_of(self.state), len(self.state.classes), self.touches)
