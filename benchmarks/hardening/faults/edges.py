"""Faults where data comes in and answers go out: readers, the store of labels, servers, reports, estimators."""

from fault import Fault

_CSV, _CELLS, _RECORDS, _LABELS, _CHUNKS = (
    f"core/data/{name}.py" for name in ("csv", "cells", "records", "label_lists", "chunks")
)
_ONE, _CONSTANT, _PROGRESS = (f"core/run/{name}.py" for name in ("one", "best_constant", "progress"))
_STORE, _UNDO, _LOOP = (f"src/hutch/{name}.py" for name in ("durable/store", "durable/undo", "active/loop"))
_WHOM = "src/hutch/active/whom.py"
_METRICS, _SERVED = (f"src/hutch/serve/{name}.py" for name in ("metrics", "served"))
_APPLICATION = "src/hutch/net/application.py"
_LINES = "src/hutch/net/lines.py"
_PIECES, _PREDICTIONS = "src/hutch/distributed/pieces.py", "src/hutch/distributed/predictions.py"
_ALT_TEST, _SPAM, _COPIES = (
    "src/hutch/judges/alt_test.py",
    "src/hutch/crowd/spam.py",
    "src/hutch/crowd/models/copies.py",
)
_ORDINAL, _MIXED_STREAM = "src/hutch/crowd/models/ordinal_kernels.py", "src/hutch/crowd/mixed/stream.py"
_PROBABILITIES, _SAMPLE = (f"reductions/bandits/{name}.py" for name in ("probabilities", "sample_action"))
_BAYESIAN = "reductions/bayesian_linear/layer.py"
_VW_CSV = "src/hutch/vw/csv.py"
_TABLES = "src/hutch/table_estimator.py"
_SPACES, _EXAMPLE = (f"src/hutch/vw/python/{name}.py" for name in ("spaces", "example"))
_RUNNING, _SESSION, _VW_LINES = (f"src/hutch/vw/{name}.py" for name in ("running", "session", "lines"))
_OF_VW = ["tests/vw/python", "tests/vw/test_workspace.py"]
_SKLEARN, _JSON, _EM = "src/hutch/sklearn.py", "src/hutch/vw/json/kernel.py", "src/hutch/em/cli.py"

_DATA = "tests/core/data/test_"
_BANDITS = "tests/reductions/bandits/test_layers.py::test_"
TESTS: dict[str, list[str]] = {
    _CSV: [f"{_DATA}readers.py", f"{_DATA}sources.py", f"{_DATA}cells.py"],
    _VW_CSV: ["tests/vw/test_names_and_metrics.py"],
    _VW_LINES: ["tests/vw/test_names_and_metrics.py", "tests/vw/test_names_peer.py"],
    _SPACES: _OF_VW,
    _EXAMPLE: _OF_VW,
    _RUNNING: _OF_VW,
    _SESSION: _OF_VW,
    _CELLS: [f"{_DATA}cells.py", f"{_DATA}readers.py", f"{_DATA}places.py"],
    _RECORDS: [
        f"{_DATA}record_values.py",
        f"{_DATA}sources.py",
        "tests/core/run/test_one.py",
        "tests/test_public_api.py",
    ],
    _LABELS: [f"{_DATA}label_lists.py", f"{_DATA}record_values.py"],
    _CHUNKS: [f"{_DATA}chunks.py", f"{_DATA}ahead.py", "tests/core/run/test_bar.py"],
    _ONE: ["tests/core/run/test_one.py"],
    _CONSTANT: ["tests/core/run/test_progress.py", "tests/vw/test_peer.py", "tests/vw/test_cases.py"],
    _PROGRESS: ["tests/core/run/test_progress.py", "tests/core/run/test_passes.py", "tests/vw/test_peer.py"],
    _STORE: ["tests/durable/test_store.py", "tests/active/test_loop.py"],
    _UNDO: ["tests/active/test_undo.py"],
    _WHOM: ["tests/active/test_whom.py"],
    _LOOP: ["tests/active/test_loop.py"],
    _METRICS: ["tests/serve/test_http.py::test_figures_and_documentation"],
    _APPLICATION: ["tests/net/test_application.py"],
    _LINES: ["tests/vw/test_daemon.py", "tests/serve/test_lines.py"],
    _PIECES: ["tests/distributed/test_pieces.py", "tests/distributed/test_rounds.py"],
    _PREDICTIONS: ["tests/distributed/test_predictions.py"],
    _ALT_TEST: ["tests/judges/test_alt_test.py"],
    _SPAM: ["tests/crowd/test_spam.py"],
    _COPIES: ["tests/crowd/quality/test_quality.py", "tests/crowd/models/test_copies.py"],
    _ORDINAL: ["tests/crowd/models/test_ordinal.py", "tests/crowd/models/test_models.py"],
    _MIXED_STREAM: ["tests/crowd/mixed/test_stream.py"],
    _SAMPLE: [f"{_BANDITS}actions_of_a_batch_without_seeds_are_drawn_by_chance_again"],
    _BAYESIAN: ["tests/reductions/bayesian_linear/test_layer.py"],
    _TABLES: ["tests/test_sklearn_frames.py", "tests/test_sklearn.py"],
    _SKLEARN: ["tests/test_sklearn_frames.py", "tests/test_sklearn.py"],
    _JSON: ["tests/vw/json/test_reader.py", "tests/vw/test_malformed_decisions.py"],
    _EM: ["tests/cli/test_em.py"],
}
"""The tests that are to notice a fault in a file."""

FAULTS: tuple[Fault, ...] = (
    Fault("files", "an empty cell of importance is 0", _CSV, '("importance",) * 2 + (1.0,)',
          '("importance",) * 2 + (0.0,)'),
    Fault("files", "an empty cell is a feature", _VW_CSV, "string = 2 * k + (start == stop)", "string = 2 * k"),
    Fault("files", "lines without records are not counted", _VW_CSV, "to, line = to + 1, line + 1", "line += 1"),
    Fault("files", "long cells are cut", _VW_CSV, "    while target + 32 < end:", "    while target + 32 < start:"),
    Fault("files", "a line feed in a tag ends a line", _VW_CSV, " or clean[i] == _FEED or clean[i] == _BAR", ""),
    Fault("files", "line feeds in quotes are no lines", _CELLS, "line += byte_at(place) == _LINE_FEED", "pass"),
    Fault("files", "the label is the dearest class", _LABELS, "min(known, key", "max(known, key"),
    Fault("files", "the position begins anew in every file", _CHUNKS, "before = place()", "before = 0"),
    Fault("runs", "a prediction alone moves the counters", _ONE, "self.counters[:] = kept", "pass"),
    Fault("runs", "the best quantile is that of 1 - tau", _CONSTANT,
          'best = high if _f(given.get("tau", 0.5)) * (lows + highs) < highs',
          'best = high if _f(given.get("tau", 0.5)) * (lows + highs) < lows'),
    Fault("runs", "held-out loss since the last row is that since the beginning", _PROGRESS,
          "self._row_holdout.end(now.weighted_holdout)", "now.holdout_loss"),
    Fault("runs", "the losses of a row count again in the next", _PROGRESS,
          "self.loss, self._weight = 0.0, weight", "self._weight = weight"),
    Fault("label store", "anybody's answer ends a lease", _STORE, "if request[1] == answer.worker:",
          "if request[1]:"),
    Fault("label store", "who cannot tell is asked for again", _STORE,
          "if answers >= request[0]:", "if labels >= request[0]:"),
    Fault("label store", "a request with an answer to spare is open again", _UNDO, ".fetchone()[0] < wanted:",
          ".fetchone()[0] <= wanted:"),
    Fault("label store", "who answers at random gets as much work as others", _WHOM, "if share[code] < LITTLE", ""),
    Fault("label store", "the least valuable request comes first", _WHOM, "np.argsort(-gain", "np.argsort(gain"),
    Fault("label store", "each of several labels stands for all lines", _STORE,
          "return self._examples_per_label[round] / float(wanted)", "return self._examples_per_label[round]"),
    Fault("label store", "who cannot tell takes a share of the request", _STORE,
          "WHERE request = r.id AND label NOT IN (:skip, :unknown))\"", "WHERE request = r.id AND label != :skip)\""),
    Fault("label store", "each of several labels is learned as a whole one", _LOOP,
          "(request.importance if weighted else 1.0) / wanted)", "(request.importance if weighted else 1.0))"),
    Fault("servers", "drift has the wrong sign", _METRICS, "lambda s: _recent_loss(s) - _mean_loss(s)",
          "lambda s: _mean_loss(s) - _recent_loss(s)"),
    Fault("servers", "pages of a neighbour may ask", _APPLICATION, 'not in ("none", "same-origin")',
          'not in ("none", "same-origin", "same-site")'),
    Fault("servers", "every piece of a large body begins at its first row", _SERVED, "                start = stop\n",
          ""),
    Fault("servers", "one connection too many", _LINES,
          "len(self._server.clients) >= self._server.limits.connections",
          "len(self._server.clients) > self._server.limits.connections"),
    Fault("servers", "a block ends with its first line", _LINES, 'ends = _ENDS if in_blocks else (b"\\n",)',
          'ends = (b"\\n",)'),
    Fault("servers", "the last block lacks its empty line, and waits", _LINES,
          "return len(self._received) if in_blocks and self._ended else 0", "return 0"),
    Fault("servers", "a client that owes an answer is silent", _LINES,
          "if left > 0 or self._awaits or self._unread:", "if left > 0:"),
    Fault("tasks", "examples are numbered anew in each batch", _PIECES, "number = seen + np.cumsum(first)",
          "number = np.cumsum(first)"),
    Fault("tasks", "predictions are written again with the next", _PREDICTIONS, "held, size = [], 0\n        writer",
          "size = 0\n        writer"),
    Fault("tasks", "a file that changed keeps its old predictions", _PREDICTIONS,
          ', "changed": stat and stat.st_mtime_ns}', "}"),
    Fault("reports", "a judge is to be behind", _ALT_TEST, "distance = epsilon - float(behind.mean())",
          "distance = epsilon + float(behind.mean())"),
    Fault("reports", "a worker's rows keep their first totals", _SPAM, "                totals[k] += share\n", ""),
    Fault("reports", "chance agreement is a sum", _COPIES, "(1 - self.chance, 0.05)", "(1 + self.chance, 0.05)"),
    Fault("ordinal crowds", "spreads of tilts ignore what the mean explains", _ORDINAL,
          "hessian[i, j] -= total * means[i] * means[j]", "pass"),
    Fault("ordinal crowds", "blocks of people and judges do not grow", _MIXED_STREAM,
          'GROWTH * self.state.workers["seen"].sum()', "0.0"),
    Fault("bandit layers", "the best action gets epsilon more than is left", _PROBABILITIES,
          "(_1 - epsilon) / np.float32(count)", "_1 / np.float32(count)"),
    Fault("bandit layers", "seeds of the batch before are drawn with", _SAMPLE, '        self.state["seeds"] = 0\n',
          ""),
    Fault("bayesian", "the constant's precision is its variance", _BAYESIAN,
          "self._matrices[:, constant] = 1.0 / p.constant_variance",
          "self._matrices[:, constant] = p.constant_variance"),
    Fault("bayesian", "a model that is loaded keeps what was probed before", _BAYESIAN,
          '        self._groups["probed"] = 0\n', "        pass\n"),
    Fault("estimators", "weights of classes take the place of those of rows", _SKLEARN,
          "weight = weight * compute_class_weight(", "weight = compute_class_weight("),
    Fault("estimators", "weights are not shuffled with their rows", _TABLES, "labels[rows], weight[rows]",
          "labels[rows], weight[: len(rows)]"),
    Fault("estimators", "coefficients are those of scaled labels", _SKLEARN,
          "return np.asarray(self._linear_weights()[0, :-1] * self._target.scale)",
          "return np.asarray(self._linear_weights()[0, :-1])"),
    Fault("JSON of VW", "a line without a probability has that of the line before", _JSON,
          "s.multi, s.cost, s.probability, s.action, s.place = 0, np.nan, 0.0, 0, -1",
          "s.multi, s.cost, s.action, s.place = 0, np.nan, 0, -1"),
    Fault("VW in Python", "rows are not counted from the namespace's hash", _SPACES, "(index - seed) & 0xFFFFFFFF",
          "index & 0xFFFFFFFF"),
    Fault("VW in Python", "decimals are read as VW reads them", _SPACES, "else text}e+0\"", "else text}\""),
    Fault("VW in Python", "a popped feature keeps its value", _EXAMPLE, "del space.indices[-1], space.values[-1]",
          "del space.indices[-1], space.values[0]"),
    Fault("VW in Python", "rows of sub-models are those of features", _EXAMPLE,
          "if self.setup_done else 1\n", "* 0 + 1\n"),
    Fault("VW in Python", "an updated prediction counts as an example", _RUNNING, "example.line, False) if self._fast",
          "example.line, False, stays=False) if self._fast"),
    Fault("VW in Python", "a decision counts before it is finished", _RUNNING,
          "ec[0].counted, values = self._counts.taken_back(before), scores.tolist()",
          "values = scores.tolist()"),
    Fault("VW in Python", "the features of a row of the table are those of the newest example", _SESSION,
          "replace(self._event, features=seen.features)", "self._event"),
    Fault("VW in Python", "looking at classes moves their draws", _VW_LINES, "maker.state.array[...] = kept", "pass"),
    Fault("VW in Python", "all classes are shown as the first", _VW_LINES,
          'copies["classes"] = k + 1', 'copies["classes"] = 1'),
    Fault("commands", "only the last pass's boundaries are counted", _EM, "boundaries += _learn(",
          "boundaries = _learn("),
)  # fmt: skip
