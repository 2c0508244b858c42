"""What `open_items_learn.learn` does, in plain NumPy: labels one by one, each item judged by what the others taught."""

import math

import numpy as np

from hutch.crowd.models.special import digamma

ONE = 1 << 32
FLOOR, HABIT, RIGHT, MOST = 1e-4, 15.0, 0.9, 300.0


class Twin:
    """A stream of labels; nothing is ever closed, and each visit costs one."""

    def __init__(self, classes, workers, clarities=(0.05, 0.4, 1.0), warm_up=10.0, visits=2):
        self.K, self.g, self.warm_up, self.visits = classes, clarities, warm_up, visits
        m = len(clarities)
        self.C = np.zeros((m, workers, classes, classes), np.int64)  # [crowd, worker, label, class]
        self.H = np.zeros((m, workers, classes), np.int64)
        self.N, self.L = np.zeros((m, classes), np.int64), np.zeros((m, 2), np.int64)
        self.skill = np.full((m, workers), 0.7)
        self.population = np.tile(np.where(np.eye(classes), 0.7, 0.3 / (classes - 1)), (m, 1, 1))
        self.habit = np.full((m, classes), 1 / classes)
        self.a, self.b, self.mean, self.E = np.full(m, 2.0), np.full(m, 2.0), np.full(m, 0.7), np.zeros(m)
        self.items, self.order, self.t, self.next, self.cursor, self.met = {}, [], 0, 500, -1, set()

    def label(self, item, worker, label):
        if self.t >= self.next:
            self.estimate()
            self.next *= 2
        if item not in self.items:
            self.items[item] = {"labels": {}, "parts": None, "gold": -1}
            self.order.append(item)
        found = self.items[item]
        self.put(found, -1)
        new = worker not in found["labels"]
        found["labels"][worker] = label
        self.met.add(worker)
        self.t += 1
        told = self.visit(found)
        if new:
            self.E += np.floor(np.abs(told) * 2**20) * np.sign(told) / 2**20
        for _ in range(self.visits):
            self.cursor = (self.cursor + 1) % len(self.order)
            other = self.items[self.order[self.cursor]]
            self.put(other, -1)
            self.visit(other)

    def put(self, found, sign):
        for m, (q, parts) in enumerate(found["parts"] or ()):
            self.N[m] += sign * q.sum(axis=0)
            self.L[m] += sign * q.sum(axis=1)
            for worker, (label, share) in parts.items():
                from_row = (q[1] * share) >> 16
                self.C[m, worker, label] += sign * (q[0] + from_row)
                self.H[m, worker, label] += sign * (q[1] - from_row).sum()

    def visit(self, found):
        told, parts = np.zeros(len(self.g)), []
        for m in range(len(self.g)):
            p, shares, told[m] = self.judge(m, found)
            parts.append((self.learned(m, found, p), shares))
        found["parts"] = parts
        self.put(found, 1)
        return told

    def rows(self, m, worker, label):
        coin = np.where(np.arange(self.K) == label, self.skill[m, worker], (1 - self.skill[m, worker]) / (self.K - 1))
        top = self.a[m] * self.population[m, label] + self.b[m] * coin + self.C[m, worker, label] / ONE
        row = np.maximum(top, FLOOR) / (self.a[m] + self.b[m] + FLOOR + self.C[m, worker].sum(axis=0) / ONE)
        mass = self.H[m, worker].sum() / ONE
        return row, (HABIT * self.habit[m, label] + self.H[m, worker, label] / ONE) / (HABIT + mass)

    def judge(self, m, found):
        prior = self.N[m] / ONE + 1
        prior = prior / prior.sum() * (1 if found["gold"] < 0 else np.arange(self.K) == found["gold"])
        clear = (self.L[m, 0] / ONE + 10) / (self.L[m].sum() / ONE + 20) if self.g[m] < 1 else 1.0
        p, shares, before, after = np.stack([prior * clear, prior * (1 - clear)]), {}, 1.0, prior.sum()
        for worker, label in found["labels"].items():
            row, habit = self.rows(m, worker, label)
            murky = self.g[m] * row + (1 - self.g[m]) * habit
            share = np.minimum(np.floor(65536 * self.g[m] * row / murky), 65535) if self.g[m] < 1 else 0 * row
            shares[worker] = label, share.astype(np.int64)
            p *= np.stack([row, murky])
            before, after = after, p.sum()
        return p / p.sum(), shares, math.log(after / before)

    def learned(self, m, found, p):
        n = len(found["labels"])
        votes = np.bincount(list(found["labels"].values()), minlength=self.K)
        prior = self.N[m] / ONE + 1
        rule = prior * (RIGHT * (self.K - 1) / (1 - RIGHT)) ** (votes - votes.max())
        rule = rule / rule.sum() if found["gold"] < 0 else np.eye(self.K)[found["gold"]]
        known = [(self.C[m, worker].sum() + self.H[m, worker].sum()) / ONE for worker in found["labels"]]
        trust = sum(self.warm_up / (self.warm_up + mass) for mass in known) / n
        agreement = (rule.max() - 1 / self.K) / (1 - 1 / self.K)
        light, dark = (0.25 + math.exp(-8 * (agreement - at) ** 2) for at in (1.0, 0.15))
        light = light / (light + dark) if self.g[m] < 1 else 1.0
        target = np.stack([rule * light, rule * (1 - light)])
        return np.floor((p + trust * (target - p)) * ONE).astype(np.int64)

    def estimate(self):
        for m in range(len(self.g)):
            psi = np.vectorize(digamma)
            tables, habits, from_a, from_b, rows, right, wrong = np.zeros((self.K, self.K)), 1.0, 0.0, 0.0, 0.0, {}, {}
            for worker in sorted(self.met):
                counts, habit = self.C[m, worker] / ONE, self.H[m, worker] / ONE
                coin = np.where(np.eye(self.K), self.skill[m, worker], (1 - self.skill[m, worker]) / (self.K - 1))
                part, other = self.a[m] * self.population[m], self.b[m] * coin
                t = psi(counts + part + other) - psi(part + other)
                tables, from_a, from_b = tables + part * t, from_a + (part * t).sum(), from_b + (other * t).sum()
                right[worker], wrong[worker] = np.trace(other * t), (other * t).sum() - np.trace(other * t)
                row = counts.sum(axis=0)
                rows += np.where(row > 0, psi(row + self.a[m] + self.b[m]) - psi(self.a[m] + self.b[m]), 0).sum()
                x = HABIT * self.habit[m]
                habits = habits + x * (psi(habit + x) - psi(x))
            for worker in self.met:
                share = (right[worker] + 2 * self.mean[m]) / (right[worker] + wrong[worker] + 2)
                self.skill[m, worker] = min(max(share, 0.001), 0.999)
            self.a[m], self.b[m] = (min((total + 0.5) / (rows + 0.25), MOST) for total in (from_a, from_b))
            self.mean[m] = (sum(right.values()) + 2) / (sum(right.values()) + sum(wrong.values()) + 3)
            tables += np.where(np.eye(self.K), 2.0, 1 / (self.K - 1))
            self.population[m], self.habit[m] = tables / tables.sum(axis=0), habits / habits.sum()

    def posteriors(self):
        weights = np.exp(self.E - self.E.max())
        weights /= weights.sum()
        self.estimate()
        result = {}
        for item, found in self.items.items():
            self.put(found, -1)
            each = [self.judge(m, found)[0].sum(axis=0) for m in range(len(self.g))]
            self.put(found, 1)
            result[item] = np.einsum("m,mk->k", weights, np.array(each))
        return result
