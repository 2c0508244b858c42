"""The two-level model in plain Python, label by label: the oracle of its kernels."""

import numpy as np
from scipy.special import digamma as psi

B, G, ANCHOR = 15.0, 0.15, 0.2


def fit(triples, workers, items, K, iterations):
    """Posteriors (items, classes, levels) of (worker, item, label) codes after some iterations."""
    V = np.zeros((items, K))
    for _, i, x in triples:
        V[i, x] += 1
    V /= V.sum(1, keepdims=True)
    e = (V.max(1) - 1 / K) / (1 - 1 / K)
    f, g = 0.25 + np.exp(-8 * (e - 1) ** 2), 0.25 + np.exp(-8 * (e - 0.15) ** 2)
    q = np.stack([V * f[:, None], V * g[:, None]], 2)
    q /= q.sum((1, 2), keepdims=True)
    m = np.where(np.eye(K), 0.7, 0.3 / (K - 1))
    r, r0, a0, a1, x0 = np.full(workers, 0.7), 0.7, 2.0, 2.0, np.full(K, 1 / K)

    def prior(w):
        coin = np.where(np.eye(K), r[w], (1 - r[w]) / (K - 1))
        return a0 * m + a1 * coin

    def share(c, h):
        return G * c / (G * c + (1 - G) * h)

    rr = np.zeros((workers, K, K))
    for w in range(workers):
        rr[w] = share(prior(w) / (a0 + a1 + 1e-4), (B * x0 / (B + 1e-4))[None, :])
    for _ in range(iterations):
        C, H = np.zeros((workers, K, K)), np.zeros((workers, K))
        for w, i, x in triples:
            C[w, :, x] += q[i, :, 0] + q[i, :, 1] * rr[w, :, x]
            H[w, x] += np.sum(q[i, :, 1] * (1 - rr[w, :, x]))
        T, tables, right, wrong, D = np.zeros((K, K)), np.ones(K), np.zeros(workers), np.zeros(workers), 0.0
        for w in range(workers):
            alpha = prior(w)
            t = psi(C[w] + alpha) - psi(alpha)
            T += a0 * m * t
            u = (alpha - a0 * m) * t
            right[w], wrong[w] = np.trace(u), u.sum() - np.trace(u)
            n = C[w].sum(1)
            D += np.sum((psi(n + a0 + a1) - psi(a0 + a1))[n > 0])
            tables += B * x0 * (psi(H[w] + B * x0) - psi(B * x0))
        a0, a1 = min((T.sum() + 0.5) / (D + 0.25), 300), min((right.sum() + wrong.sum() + 0.5) / (D + 0.25), 300)
        r = np.clip((right + 2 * r0) / (right + wrong + 2), 0.001, 0.999)
        r0 = (right.sum() + 2) / (right.sum() + wrong.sum() + 3)
        m = T + np.where(np.eye(K), 2, 1 / (K - 1))
        m /= m.sum(1, keepdims=True)
        x0 = tables / tables.sum()
        pi = q.sum((0, 2)) + 1 + ANCHOR * V.sum(0)
        tau = q.sum((0, 1)) + 10
        new = np.tile(np.outer(pi / pi.sum(), tau / tau.sum()), (items, 1, 1))
        for w, i, x in triples:
            own = q[i, :, 0] + q[i, :, 1] * rr[w, :, x]
            oh = np.sum(q[i, :, 1] * (1 - rr[w, :, x]))
            c = np.maximum(prior(w)[:, x] + C[w, :, x] - own, 1e-4) / (a0 + a1 + C[w].sum(1) - own + 1e-4)
            h = max(H[w, x] + B * x0[x] - oh, 1e-4) / (H[w].sum() + B - oh + 1e-4)
            new[i, :, 0] *= c
            new[i, :, 1] *= G * c + (1 - G) * h
        q = new / new.sum((1, 2), keepdims=True)
        for w in range(workers):
            c = np.maximum(prior(w) + C[w], 1e-4) / (a0 + a1 + C[w].sum(1, keepdims=True) + 1e-4)
            rr[w] = share(c, (np.maximum(H[w] + B * x0, 1e-4) / (H[w].sum() + B + 1e-4))[None, :])
    return q
