import numpy as np
import pytest

from hutch.core.chain.model_file import load_model, save_model
from hutch.core.errors import ConfigError, ModelError, UsageError
from hutch.crowd.aggregate import Options, aggregate, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.live import LiveCrowd
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate


@pytest.fixture(scope="module")
def votes():
    labels = simulate(120, 12, 3, 5, seed=4).labels
    rows = [(f"w{w}", f"t{i}", f"c{k}") for w, i, k in labels.coming[:, [0, 1, 2]].tolist()]
    return [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]


def learned(votes, classes=("c0", "c1", "c2"), **options):
    crowd = LiveCrowd(classes, **options)
    for vote in votes:
        crowd.update(*vote)
    return crowd


def test_label_by_label_it_is_online_aggregation_to_the_bit(votes):
    crowd = learned(votes)
    labels = from_triples(votes, ["c0", "c1", "c2"], arrivals=True)
    result = aggregate(labels, TwoLevel(), Options("online"))
    state, other = crowd._stream.final_state(), result.fit.state
    for part in ("workers", "shared", "open"):
        assert all(np.array_equal(array, getattr(other, part)[name]) for name, array in getattr(state, part).items())
    assert crowd.tasks == list(labels.item_names)
    for place, task in enumerate(labels.item_names):
        assert [*crowd.posterior(task).values()] == result.probability[place].tolist()


def test_saved_and_loaded_it_continues(votes, tmp_path):
    whole, half = learned(votes), learned(votes[:300])
    half.save(tmp_path / "crowd")
    half = LiveCrowd.load(tmp_path / "crowd")
    for vote in votes[300:]:
        half.update(*vote)
    assert half.posterior("t3") == whole.posterior("t3")
    half.save(tmp_path / "a")
    whole.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_classes_come_with_their_first_label(votes):
    crowd = learned(votes, classes=())
    assert crowd.classes == [*dict.fromkeys(label for _, _, label in votes)]
    known = learned(votes)
    same = [
        max(p, key=p.get) == max(q, key=q.get)
        for p, q in ((crowd.posterior(t), known.posterior(t)) for t in crowd.tasks)
    ]
    assert np.mean(same) > 0.9


def test_what_is_known_late_counts(votes):
    crowd = learned(votes)
    before = crowd.accuracy("w1")
    crowd.tell("t0", "c1")
    assert max(crowd.posterior("t0").values()) == crowd.posterior("t0")["c1"] > 0.9
    assert crowd.events()["late_gold"] == 1 and crowd.accuracy("w1") != before
    crowd.update("w1", "t0", "c1")
    crowd.update("w1", "t0", "c2")
    assert crowd.events()["corrected_labels"] >= 1
    assert crowd.accuracy("nobody") == pytest.approx(crowd.accuracy("nobody else"))


def test_few_open_tasks(votes):
    crowd = learned(votes, most_open=10)
    assert crowd.events()["open_tasks"] == 10 and len(crowd.tasks) == len({task for _, task, _ in votes})


def test_what_is_refused(votes, tmp_path):
    crowd = learned(votes[:50])
    with pytest.raises(UsageError, match="tell: got class 'x', wanted one of c0, c1, c2"):
        crowd.tell("t0", "x")
    with pytest.raises(UsageError, match="got task 'elsewhere', which has no label"):
        crowd.tell("elsewhere", "c0")
    with pytest.raises(ConfigError, match="unknown parameter"):
        LiveCrowd(["a"], decay=0.8)
    found = aggregate(from_triples(votes), Nominal(), Options("online"))
    save(str(tmp_path / "other"), Nominal(), Options("online"), found.fit.state)
    with pytest.raises(ModelError, match="got model nominal, method online; wanted two_level"):
        LiveCrowd.load(tmp_path / "other")


def test_forged_files_are_refused_or_harmless(votes, tmp_path):
    random = np.random.default_rng(0)
    learned(votes, most_open=25, slots=16).save(tmp_path / "sound")
    arrays, metadata = load_model(tmp_path / "sound", kind="crowd")
    names, results = [name for name in arrays if not name.endswith("names") and arrays[name].size], []
    for _ in range(60):
        forged = {name: array.copy() for name, array in arrays.items()}
        array = forged[str(random.choice(names))].reshape(-1)
        numbers = np.array([0.0, 1.0, -1.0, 7.0, 60.0, 1e9, 1e17, np.nan, np.inf])
        if array.dtype.kind != "f":
            limits = np.iinfo(array.dtype)
            numbers = np.clip(numbers[:7], limits.min, min(limits.max, 1 << 62))
        array[random.integers(array.size)] = random.choice(numbers)
        save_model(tmp_path / "forged", forged, metadata, kind="crowd")
        try:
            crowd = LiveCrowd.load(tmp_path / "forged", most_open=int(random.choice([0, 10])))
        except ModelError:
            results.append("refused")
            continue
        for vote in votes[:20]:
            crowd.update(*vote)
        assert len(crowd.posterior("t1")) == 3
        results.append("harmless")
    assert {*results} == {"refused", "harmless"}


def test_after_corrections_final_verdicts_are_read_from_a_copy_that_is_judged_again():
    crowd, random = LiveCrowd(["a", "b"]), np.random.default_rng(0)
    truth = {f"t{k}": "ab"[k % 2] for k in range(60)}
    for task, label in truth.items():
        for worker in "vwxyz":
            crowd.update(worker, task, label if random.random() < 0.8 else "ab"[label == "a"])
    stream = crowd._stream
    assert stream.settled() is stream
    for task, label in truth.items():
        crowd.update("v", task, label)
    before = crowd.posterior("t0")
    other = stream.settled()
    assert other is not stream and crowd.posterior("t0") == before
    labels = other.kept(["t0"])
    assert other.score(labels)[0].tolist() != stream.score(labels)[0].tolist()
    assert other.settled().score(labels)[0].shape == (1, 2)
