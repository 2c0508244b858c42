"""Scripts as people have written them for VW's Python package, run under both with one import line changed."""

import copy
import pickle
import warnings

import numpy as np
import pytest

SCRIPTS = {
    "pyvw": """
from {vw} import pyvw
model = pyvw.Workspace("--quiet --loss_function logistic")
for line in ["1 |f good film", "-1 |f bad film", "1 |f good"] * 5:
    model.learn(line)
found = [model.predict("|f good"), model.predict("|f film bad")]
model.finish()
""",
    "keywords": """
from {vw} import pyvw
model = pyvw.Workspace(quiet=True, oaa=3, b=12)
for k in range(30):
    model.learn(f"{{k % 3 + 1}} |f x{{k % 3}}")
found = [model.predict(f"|f x{{k}}") for k in range(3)]
""",
    "example from mapping": """
from {vw} import pyvw
model = pyvw.Workspace("--quiet")
example = pyvw.Example(model, {{"f": ["a", ("b", 0.5)]}})
example.set_label_string("1")
model.learn(example)
model.finish_example(example)
found = [model.predict("|f a"), model.get_sum_loss()]
""",
    "bandit": """
from {vw} import Workspace
model = Workspace("--cb 4 --quiet")
for cost, action in [(2, 1), (1, 2), (0, 3), (3, 4)] * 3:
    model.learn(f"{{action}}:{{cost}}:0.25 | a b{{action}}")
found = [model.predict("| a b3")]
""",
    "decision": """
from {vw} import Workspace
model = Workspace("--cb_explore_adf -q UA --quiet --epsilon 0.2")
def text(user, chosen=None, cost=None, p=None):
    lines = [f"shared |U user={{user}}"]
    for k, a in enumerate(["sports", "food"]):
        lines.append((f"0:{{cost}}:{{p}} " if k == chosen else "") + f"|A article={{a}}")
    return "\\n".join(lines)
for k in range(20):
    model.learn(model.parse(text("ann", k % 2, k % 2, 0.5)))
found = model.predict(text("ann"))
""",
    "dsjson": """
from {vw} import Workspace
model = Workspace("--cb_explore_adf --dsjson --quiet")
line = '{{"_label_cost":-1,"_label_probability":0.5,"_label_Action":2,"_labelIndex":1,"a":[2,1],"p":[0.5,0.5],'
line += '"c":{{"u":{{"x":1}},"_multi":[{{"a":{{"k":1}}}},{{"a":{{"k":2}}}}]}}}}'
for _ in range(3):
    examples = model.parse(line)
    model.learn(examples)
    model.finish_example(examples)
found = [model.predict(line), model.get_sum_loss()]
""",
    "slots": """
from {vw} import Workspace
model = Workspace("--ccb_explore_adf --quiet")
text = "ccb shared |u a\\nccb action |x 1\\nccb action |x 2\\nccb slot 1:0.5:0.5 |s k\\nccb slot 0:1:0.5 |s l"
for _ in range(3):
    model.learn(text)
found = [[list(pair) for pair in slot] for slot in model.predict(text)]
""",
    "weights": """
from {vw} import pyvw
model = pyvw.Workspace("--quiet --noconstant")
model.learn("1 |f a b:2")
found = [model.get_weight_from_name("a", "f"), model.num_weights(), model.get_weighted_examples()]
""",
    "data frame": """
import pandas as pd
from {vw}.dftovw import DFtoVW
from {vw} import Workspace
table = pd.DataFrame({{"y": [1, -1, 1], "size": [0.5, 2, None], "colour": ["red", "blue", "red"]}})
lines = DFtoVW.from_colnames(y="y", x=["size", "colour"], df=table).convert_df()
model = Workspace("--quiet")
for line in lines:
    model.learn(line)
found = [model.predict(lines[0]), *lines]
""",
    "data frame with namespaces": """
import pandas as pd
from {vw}.dftovw import DFtoVW, SimpleLabel, MulticlassLabel, Feature, Namespace, ContextualbanditLabel
table = pd.DataFrame({{"y": [1, 2], "w": [0.5, 2], "a": [1, 0], "b": ["p", "q"], "t": ["x", "z"], "p": [0.5, 0.25]}})
spaces = [Namespace(Feature("a"), name="n", value=2)]
spaces.append(Namespace([Feature("b", "c"), Feature("w", as_type="categorical")]))
found = DFtoVW(table, namespaces=spaces, label=MulticlassLabel("y", "w"), tag="t").convert_df()
found += DFtoVW(table, features=Feature("a"), label=ContextualbanditLabel("y", "w", "p")).convert_df()
""",
    "regressor": """
import numpy as np
from {vw}.sklearn import VWRegressor
X = np.random.default_rng(0).normal(size=(60, 4))
y = X @ [1, -2, 0, 0.5]
model = VWRegressor(quiet=True, l=0.3).fit(X, y)
found = model.predict(X[:5]).tolist() + [model.get_intercept()]
""",
    "classifier": """
import numpy as np
from {vw}.sklearn import VWClassifier, tovw
X = np.random.default_rng(0).normal(size=(60, 4)).round(3)
y = (X[:, 0] > 0).astype(int)
model = VWClassifier(quiet=True).fit(X, y)
found = model.predict(X[:9]).tolist() + model.decision_function(X[:3]).tolist()
found += model.predict_proba(X[:2]).ravel().tolist()
found += tovw(X[:2], y[:2])
""",
    "lines to an estimator": """
from {vw}.sklearn import VW
model = VW(convert_to_vw=False, quiet=True, loss_function="logistic").fit(["1 | a", "-1 | b", "1 | a c"])
found = model.predict(["| a", "| b"]).tolist()
""",
    "log": """
from {vw} import pyvw
with open("data", "w") as file:
    file.write("1 |f a\\n-1 |f b\\n")
model = pyvw.Workspace("-d data -P 1", enable_logging=True)
model.run_parser()
model.finish()
found = [line.strip() for line in model.get_log() if line.startswith(("1.0", "0.", "average loss", "number of"))]
""",
    "model on disk": """
from {vw} import Workspace
model = Workspace("--quiet --oaa 2 -f m.model")
for k in range(8):
    model.learn(f"{{k % 2 + 1}} |f x{{k % 2}} y")
model.finish()
again = Workspace("--quiet -i m.model -t")
found = [again.predict("|f x1"), again.get_prediction_type() == again.pSCALAR if hasattr(again, "pS") else None]
""",
}


def _found(script, package):
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script.format(vw=package), names)
    return names["found"]


def _same(ours, theirs):
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            _same(mine, other)
    elif isinstance(theirs, float):
        assert np.float32(ours) == np.float32(theirs) or abs(ours - theirs) < 1e-6
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name, tmp_path, monkeypatch):
    pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")
    for library in ("pandas", "sklearn"):
        if library in SCRIPTS[name]:
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    theirs = _found(SCRIPTS[name], "vowpalwabbit")
    _same(_found(SCRIPTS[name], "hutch.vw"), theirs)


def test_classes():
    """VW's own estimator of several classes takes its labels for others: there is nothing to compare with."""
    pytest.importorskip("sklearn")
    from hutch.vw.sklearn import VWMultiClassifier

    X = np.random.default_rng(0).normal(size=(400, 3))
    y = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    model = VWMultiClassifier(loss_function="logistic", passes=3).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    plain = VWMultiClassifier(loss_function="logistic", passes=3, probabilities=False).fit(X, y)
    assert (plain.predict(X) == y).mean() > 0.9
    with pytest.raises(ValueError, match="no probabilities"):
        plain.predict_proba(X)


def test_estimators_are_copied_with_what_they_learned():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    from hutch.vw.sklearn import VWClassifier, VWRegressor

    X = np.random.default_rng(1).normal(size=(120, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0]
    model = VWRegressor(l=0.3).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
        twin.get_vw().learn("5 | 0:1")
        assert twin.predict(X[:1]) != model.predict(X[:1])
    assert clone(model).l == 0.3 and clone(model).vw_ is None
    search = GridSearchCV(VWClassifier(), {"l": [1e-4, 0.5]}, cv=3).fit(X, y > 0)
    assert search.best_params_ == {"l": 0.5} and search.score(X, y > 0) > 0.85
    ends = [y.argmin(), y.argmax()]  # between which predictions are kept
    other = VWRegressor().fit(X[ends], y[ends])
    other.set_coefs(model.get_coefs())
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_estimators_of_lines_and_of_wrong_options():
    pytest.importorskip("sklearn")
    from hutch.vw.sklearn import VWClassifier, VWMultiClassifier, VWRegressor

    lines = ["1 | a", "-1 | b"] * 5
    assert VWClassifier(convert_to_vw=False).fit(lines).predict(["| a", "| b"]).tolist() == [1.0, -1.0]
    model = VWMultiClassifier(convert_to_vw=False, oaa=3).fit(["1 | a", "3 | b"] * 5)
    assert model.predict(["| a", "| b"]).tolist() == [1, 3]
    with pytest.raises(
        TypeError, match="got argument 'learning_rat', wanted an option of VW; did you mean 'learning_rate'"
    ):
        VWRegressor(learning_rat=0.1)
