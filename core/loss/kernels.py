"""The kernels of the built-in losses, in float32 and in VW's order of operations.

Each takes (prediction, label, scale, norm, address of the LOSS record); `scale` is learning rate times importance and
`norm` the change of the prediction per unit of update, so that an update u moves a linear prediction p to p + norm * u.
Sources: VW 9.11.9 (loss_functions.cc) for the arithmetic; N. Karampatziakis and J. Langford, "Online importance weight
aware updates", UAI 2011, table 1, for the closed forms.
"""

import math

import numpy as np

from hutch.core.kernel.abi import call_loss, loss_kernel, loss_of, shared_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.loss import kinds

_0, _1, _2, _4 = np.float32(0), np.float32(1), np.float32(2), np.float32(4)
_SMALL_STEP = 1e-6  # below this the exact step is replaced by the gradient step, which it rounds to
_LARGEST_EXPONENT = np.float32(88.72283)  # of e, in float32; beyond it log(1 + e^z) is z to all digits
_MAX_LOG_RATE = np.float32(44)  # predictions of a Poisson model are log rates within ±44


@inlined
def _singles(prediction, label):
    return np.float32(prediction), np.float32(label)


# What follows from the derivative alone, for losses with nothing better.


@helper
def _slope(prediction, label, loss):
    return np.float32(call_loss(loss_of(loss).derivative, prediction, label, 0.0, 0.0, loss))


@loss_kernel
def unsafe_update(prediction, label, scale, norm, loss):
    """The gradient step."""
    return np.float64(-_slope(prediction, label, loss) * np.float32(scale))


@loss_kernel
def square_gradient(prediction, label, scale, norm, loss):
    """Square of the derivative."""
    d = _slope(prediction, label, loss)
    return np.float64(d * d)


# Squared loss. The prediction is expected within the label range; beyond it the loss continues as its tangent.


@helper
def _squared_value(p, y, loss):
    shared = shared_of(loss_of(loss).shared)
    low, high = shared.min_label, shared.max_label
    if low <= p <= high:
        return np.float64((p - y) * (p - y))
    bound = low if p < low else high
    if y == bound:
        return 0.0
    gap, excess = abs(y - bound), abs(bound - p)
    return np.float64(np.float32(np.float64(gap * gap) + 2.0 * np.float64(gap) * np.float64(excess)))


@helper
def _squared_derivative(p, y, loss):
    shared = shared_of(loss_of(loss).shared)
    return _2 * (min(max(p, shared.min_label), shared.max_label) - y)


@helper
def _squared_update(p, y, scale, norm):
    if scale * norm < _SMALL_STEP:
        return _2 * (y - p) * scale
    return (y - p) * (_1 - math.exp(-_2 * scale * norm)) / norm


@loss_kernel
def squared_value(prediction, label, scale, norm, loss):
    """(p - y)² within the label range, tangents beyond it."""
    p, y = _singles(prediction, label)
    return _squared_value(p, y, loss)


@loss_kernel
def squared_derivative(prediction, label, scale, norm, loss):
    """2 (p - y) with p clipped to the label range."""
    p, y = _singles(prediction, label)
    return np.float64(_squared_derivative(p, y, loss))


@loss_kernel
def squared_update(prediction, label, scale, norm, loss):
    """(y - p)(1 - e^(-2 s q)) / q."""
    p, y = _singles(prediction, label)
    return np.float64(_squared_update(p, y, np.float32(scale), np.float32(norm)))


@loss_kernel
def squared_unsafe_update(prediction, label, scale, norm, loss):
    """2 (y - p) s."""
    p, y = _singles(prediction, label)
    return np.float64(_2 * (y - p) * np.float32(scale))


@loss_kernel
def squared_square_gradient(prediction, label, scale, norm, loss):
    """4 (p - y)²."""
    p, y = _singles(prediction, label)
    return np.float64(_4 * (p - y) * (p - y))


# Classic squared loss: the same, never clipped, and without the importance-aware update.


@loss_kernel
def classic_value(prediction, label, scale, norm, loss):
    """(p - y)²."""
    p, y = _singles(prediction, label)
    return np.float64((p - y) * (p - y))


@loss_kernel
def classic_derivative(prediction, label, scale, norm, loss):
    """2 (p - y)."""
    p, y = _singles(prediction, label)
    return np.float64(_2 * (p - y))


# Hinge loss.


@inlined
def _hinge_value(p, y):
    return max(_1 - y * p, _0)


@inlined
def _hinge_derivative(p, y):
    return _0 if y * p >= _1 else -y


@inlined
def _hinge_update(p, y, s, q):
    if y * p >= _1:
        return _0
    gap = _1 - y * p
    return y * (s if s * q < gap else gap / q)


@loss_kernel
def hinge_value(prediction, label, scale, norm, loss):
    """max(0, 1 - y p)."""
    p, y = _singles(prediction, label)
    return np.float64(_hinge_value(p, y))


@loss_kernel
def hinge_derivative(prediction, label, scale, norm, loss):
    """-y within the margin, else 0."""
    p, y = _singles(prediction, label)
    return np.float64(_hinge_derivative(p, y))


@loss_kernel
def hinge_update(prediction, label, scale, norm, loss):
    """y min(s, (1 - y p) / q) within the margin."""
    p, y = _singles(prediction, label)
    return np.float64(_hinge_update(p, y, np.float32(scale), np.float32(norm)))


@loss_kernel
def hinge_unsafe_update(prediction, label, scale, norm, loss):
    """y s within the margin."""
    p, y = _singles(prediction, label)
    return 0.0 if y * p >= _1 else np.float64(y * np.float32(scale))


# Logistic loss. A label between `lower` (-1) and `upper` (+1) is a mixture of the two.


@helper
def _share_of_upper(y, loss):
    record = loss_of(loss)
    lower, upper = np.float32(record.lower), np.float32(record.upper)
    return (y - lower) / (upper - lower)


@helper
def _logistic_value(p, y):
    z = -y * p
    return math.log(_1 + math.exp(z)) if not z > _LARGEST_EXPONENT else z


@helper
def _logistic_derivative(p, y):
    return -y / (_1 + math.exp(y * p))


@helper
def _lambert(x):
    """W(e^x) - x to 9e-5: VW's first guess and one step of Fritsch, Shafer and Crowley's iteration."""
    z = np.float64(x)
    w = 0.86 * z + 0.01 if z >= 1.0 else math.exp(0.8 * z - 0.65)
    r = z - math.log(w) - w if z >= 1.0 else 0.2 * z + 0.65 - w
    t = 1.0 + w
    u = 2.0 * t * (t + 2.0 * r / 3.0)
    return np.float32(w * (1.0 + r / t * (u - r) / (u - 2.0 * r)) - z)


@helper
def _logistic_update(p, y, s, q):
    d = math.exp(y * p)
    if s * q < _SMALL_STEP:
        return y * s / (_1 + d)
    return -(y * _lambert(s * q + y * p + d) + p) / q


@inlined
def _logistic_mixed_value(p, y, loss):
    share = _share_of_upper(y, loss)
    if share == _1 or share == _0:
        return _logistic_value(p, _1 if share == _1 else -_1)
    return share * _logistic_value(p, _1) + (_1 - share) * _logistic_value(p, -_1)


@loss_kernel
def logistic_value(prediction, label, scale, norm, loss):
    """log(1 + e^(-y p))."""
    p, y = _singles(prediction, label)
    return np.float64(_logistic_mixed_value(p, y, loss))


@inlined
def _logistic_mixed_derivative(p, y, loss):
    share = _share_of_upper(y, loss)
    if share == _1 or share == _0:
        return _logistic_derivative(p, _1 if share == _1 else -_1)
    return share * _logistic_derivative(p, _1) + (_1 - share) * _logistic_derivative(p, -_1)


@inlined
def _logistic_mixed_update(p, y, s, q, loss):
    share = _share_of_upper(y, loss)
    if share == _1 or share == _0:
        return _logistic_update(p, _1 if share == _1 else -_1, s, q)
    return share * _logistic_update(p, _1, s, q) + (_1 - share) * _logistic_update(p, -_1, s, q)


@loss_kernel
def logistic_derivative(prediction, label, scale, norm, loss):
    """-y / (1 + e^(y p))."""
    p, y = _singles(prediction, label)
    return np.float64(_logistic_mixed_derivative(p, y, loss))


@loss_kernel
def logistic_update(prediction, label, scale, norm, loss):
    """-(y W(e^(s q + y p + e^(y p))) - y (s q + y p + e^(y p)) + p) / q."""
    p, y = _singles(prediction, label)
    return np.float64(_logistic_mixed_update(p, y, np.float32(scale), np.float32(norm), loss))


@loss_kernel
def logistic_unsafe_update(prediction, label, scale, norm, loss):
    """y s / (1 + e^(y p))."""
    p, y = _singles(prediction, label)
    s, share = np.float32(scale), _share_of_upper(y, loss)
    upward, downward = s / (_1 + math.exp(p)), -s / (_1 + math.exp(-p))
    if share == _1 or share == _0:
        return np.float64(upward if share == _1 else downward)
    return np.float64(share * upward + (_1 - share) * downward)


# Quantile (pinball) loss; the record's parameter is tau.


@helper
def _tau(loss):
    return np.float32(loss_of(loss).parameter)


@loss_kernel
def quantile_value(prediction, label, scale, norm, loss):
    """tau e where e = y - p > 0, else (tau - 1) e."""
    p, y = _singles(prediction, label)
    tau, e = _tau(loss), y - p
    return np.float64(tau * e if e > _0 else -(_1 - tau) * e)


@loss_kernel
def quantile_derivative(prediction, label, scale, norm, loss):
    """-tau below the label, 1 - tau above."""
    p, y = _singles(prediction, label)
    if y == p:
        return 0.0
    return np.float64(-_tau(loss) if y - p > _0 else _1 - _tau(loss))


@loss_kernel
def quantile_update(prediction, label, scale, norm, loss):
    """The gradient step, or the step to the label where that is nearer."""
    p, y = _singles(prediction, label)
    s, q = np.float32(scale), np.float32(norm)
    tau, e = _tau(loss), y - p
    if e == _0:
        return 0.0
    step = s * q
    if e > _0:
        return np.float64(tau * s if tau * step < e else e / q)
    return np.float64(-(_1 - tau) * s if -(_1 - tau) * step > e else e / q)


# Expectile loss: squared loss weighted by tau below the label and by 1 - tau above it.


@helper
def _expectile_weight(p, y, loss):
    tau = loss_of(loss).parameter
    return np.float32(1.0 - tau) if y - p < _0 else np.float32(tau)


@loss_kernel
def expectile_value(prediction, label, scale, norm, loss):
    """Weighted squared loss."""
    p, y = _singles(prediction, label)
    return np.float64(np.float32(_squared_value(p, y, loss)) * _expectile_weight(p, y, loss))


@loss_kernel
def expectile_derivative(prediction, label, scale, norm, loss):
    """Weighted derivative of squared loss."""
    p, y = _singles(prediction, label)
    return np.float64(_squared_derivative(p, y, loss) * _expectile_weight(p, y, loss))


@loss_kernel
def expectile_update(prediction, label, scale, norm, loss):
    """The update of squared loss at the weighted scale."""
    p, y = _singles(prediction, label)
    s = _expectile_weight(p, y, loss) * np.float32(scale)
    return np.float64(_squared_update(p, y, s, np.float32(norm)))


@loss_kernel
def expectile_unsafe_update(prediction, label, scale, norm, loss):
    """The gradient step of squared loss at the weighted scale."""
    p, y = _singles(prediction, label)
    return np.float64(_2 * (y - p) * (_expectile_weight(p, y, loss) * np.float32(scale)))


@loss_kernel
def expectile_square_gradient(prediction, label, scale, norm, loss):
    """4 (p - y)² times the weight squared."""
    p, y = _singles(prediction, label)
    weight = _expectile_weight(p, y, loss)
    return np.float64(_4 * (p - y) * (p - y) * (weight * weight))


# Poisson loss on the log rate; its value is the deviance.


@helper
def _log_rate(p):
    return max(min(p, _MAX_LOG_RATE), -_MAX_LOG_RATE)


@loss_kernel
def poisson_value(prediction, label, scale, norm, loss):
    """2 (y (log y - p) - (y - e^p))."""
    p, y = _singles(prediction, label)
    return np.float64(_2 * (y * (math.log(y + np.float32(1e-6)) - _log_rate(p)) - (y - math.exp(_log_rate(p)))))


@loss_kernel
def poisson_derivative(prediction, label, scale, norm, loss):
    """e^p - y, half the deviance's."""
    p, y = _singles(prediction, label)
    return np.float64(math.exp(_log_rate(p)) - y)


@loss_kernel
def poisson_update(prediction, label, scale, norm, loss):
    """y s - log(1 + e^p (e^(y s q) - 1) / y) / q."""
    p, y = _singles(prediction, label)
    s, q = np.float32(scale), np.float32(norm)
    rate = math.exp(_log_rate(p))
    if y > _0:
        reach = y * s * q
        if reach > _MAX_LOG_RATE:
            return np.float64(-(_log_rate(p) - math.log(y)) / q)
        return np.float64(y * s - math.log1p(rate * math.expm1(reach) / y) / q)
    return np.float64(-math.log1p(rate * s * q) / q)


# The same for kernels that meet a loss for every example: the losses met most in line, all others by address.


@inlined
def value_of(loss, p, y):
    """Loss of prediction p and label y, float32; `loss` is the address of the LOSS record."""
    record = loss_of(loss)
    if record.kind == kinds.HINGE:
        return _hinge_value(p, y)
    if record.kind == kinds.LOGISTIC:
        return _logistic_mixed_value(p, y, loss)
    return np.float32(call_loss(record.value, np.float64(p), np.float64(y), 0.0, 0.0, loss))


@inlined
def square_gradient_of(loss, p, y):
    """The increment of the adaptive rates."""
    record = loss_of(loss)
    if record.kind == kinds.HINGE:
        d = _hinge_derivative(p, y)
        return d * d
    if record.kind == kinds.LOGISTIC:
        d = _logistic_mixed_derivative(p, y, loss)
        return d * d
    return np.float32(call_loss(record.square_gradient, np.float64(p), np.float64(y), 0.0, 0.0, loss))


@inlined
def update_of(loss, p, y, scale, norm, invariant):
    """The importance-aware update, or the gradient step where not `invariant`."""
    record = loss_of(loss)
    if invariant and record.kind == kinds.HINGE:
        return _hinge_update(p, y, scale, norm)
    if invariant and record.kind == kinds.LOGISTIC:
        return _logistic_mixed_update(p, y, scale, norm, loss)
    step = record.update if invariant else record.unsafe_update
    return np.float32(call_loss(step, np.float64(p), np.float64(y), np.float64(scale), np.float64(norm), loss))
