"""A crowd model: how often each worker is right; wrong labels are equally likely."""

import numpy as np

from hutch.plugin import CrowdModel, CrowdState, hookimpl


class Mine(CrowdModel):
    """Each worker has one accuracy."""

    name = "mine"
    summary = "how often each worker is right"

    def start(self, labels, history):
        """Vote shares, and what is known of workers and classes."""
        workers, classes = len(labels.worker_names), len(labels.classes)
        known = {"right": np.zeros(workers), "given": np.zeros(workers)}
        shares = np.zeros(classes)
        if history:
            for name, array in known.items():
                array[: len(history.worker_names)] = history.workers[name]
            shares[: len(history.classes)] = history.shared["shares"]
        return CrowdState(
            labels.classes,
            labels.worker_names,
            workers=known,
            shared={"shares": shares},
            items={"posterior": labels.vote_share(gold=True)},
            scratch={name: array.copy() for name, array in {**known, "shares": shares}.items()},
        )

    def count(self, labels, state):
        """Sums over these items."""
        q, workers = state.items["posterior"], len(state.worker_names)
        own = q[labels.label_items, labels.labels]
        return {
            "right": np.bincount(labels.workers, own, workers),
            "given": np.bincount(labels.workers, minlength=workers).astype(float),
            "shares": q.sum(axis=0),
        }

    def settle(self, state, sums):
        """The M-step: the history and the sums."""
        state.workers["right"][...] = state.scratch["right"] + sums["right"]
        state.workers["given"][...] = state.scratch["given"] + sums["given"]
        state.shared["shares"][...] = state.scratch["shares"] + sums["shares"]

    def expect(self, labels, state, learned):
        """The E-step: posteriors; returns the mean log-likelihood and the largest change."""
        table, q = np.log(self.confusions(state)), state.items["posterior"]
        scores = np.tile(np.log(self.class_prior(state)), (labels.items, 1))
        np.add.at(scores, labels.label_items, table[labels.workers, :, labels.labels])
        known = np.flatnonzero(labels.gold >= 0)
        scores[known] += np.where(np.eye(len(state.classes))[labels.gold[known]] > 0, 0, -np.inf)
        top = scores.max(axis=1, keepdims=True, initial=-1e300)
        fresh = np.exp(scores - top)
        total = fresh.sum(axis=1, keepdims=True)
        change = np.abs(fresh / total - q).max(initial=0.0)
        q[...] = fresh / total
        return float(np.mean(top + np.log(total))) if labels.items else 0.0, float(change)

    def posterior(self, state):
        """P(class) of each item."""
        return state.items["posterior"]

    def confusions(self, state):
        """P(label given class) of each worker; the prior is 2.8 of 4 right."""
        classes = len(state.classes)
        skill = (state.workers["right"] + 2.8) / (state.workers["given"] + 4)
        wrong = np.repeat((1 - skill) / max(classes - 1, 1), classes * classes).reshape(len(skill), classes, classes)
        rows = np.where(np.eye(classes), skill[:, None, None], wrong)
        return rows / rows.sum(axis=2, keepdims=True)

    def class_prior(self, state):
        """P(class)."""
        counts = state.shared["shares"] + 1
        return counts / counts.sum()


@hookimpl
def hutch_register_crowd_models(register):
    """Register the model."""
    register(Mine)
