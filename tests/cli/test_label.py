"""`hutch label`."""

import json

import pytest

from hutch.label.simulate import simulated


def write_votes(path, world, judge, names=("no", "yes", "maybe")):
    votes = world.votes[judge]
    rows = zip(votes.label[:, 0].tolist(), votes.probability[:, 0].tolist(), strict=True)
    lines = [f"t{item}\t{names[label]}\t{p:.4f}" for item, (label, p) in enumerate(rows)]
    path.write_text("\n".join(["task\tlabel\tprobability", *lines]) + "\n")


def write_world(folder, items=300, classes=2):
    world = simulated(items, [0.8, 0.93], classes, seed=3)
    names = "no yes maybe".split()
    for judge, name in enumerate(("small", "large")):
        write_votes(folder / f"{name}.tsv", world, judge)
    truth = "\n".join(f"ann\tt{item}\t{names[k]}" for item, k in enumerate(world.truth.tolist()))
    (folder / "people.tsv").write_text(truth + "\n")
    (folder / "who.yaml").write_text(
        "small: {kind: judge, price: 0.001, votes: small.tsv}\n"
        "large: {kind: judge, price: 0.02, votes: large.tsv}\n"
        "people: {kind: person, price: 0.50, votes: people.tsv}\n"
    )
    return world, names


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_simulate(hutch):
    done = hutch("label", "simulate", "--items", 500, "--runs", 3, "--target", "accuracy=0.9", "--json")
    found = json.loads(done.out)
    assert done.code == 0 and found["hutch"]["runs"] == 3 and found["hutch"]["held"] == 1
    assert found["hutch"]["bill"] < found["people"]["bill"] == 500
    table = hutch("label", "simulate", "--items", 500, "--runs", 1)
    assert [line.split("  ")[0] for line in table.out.splitlines()[1:]][:2] == ["hutch", "random"]


def test_simulate_files(hutch, here):
    write_world(here, classes=3)
    done = hutch("label", "simulate", "--who", "who.yaml", "--target", "accuracy=0.9", "--runs", 2, "--json")
    found = json.loads(done.out)
    assert found["people"]["bill"] == 150 and found["hutch"]["share"] < 0.7


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("people: {kind: person, price: x, store: true}\n", "who.yaml:1:31: people.price: got 'x', wanted a number"),
        ("people: {kind: person, store: true, prise: 1}\n", "who.yaml:1:37: people.prise: unknown key; did you mean"),
        ("people: {kind: person, price: 1}\n", "who.yaml:1:9: people: got none, wanted one of votes, command, store"),
        ("small: {kind: judge, price: 1, votes: a}\n", "who.yaml:1:1: got 0 kinds of people, wanted one"),
        ("a: {kind: judge, price: 1, store: true}\n", "who.yaml:1:4: a: store: got true for a judge"),
        ("[]\n", "who.yaml:1:1: wanted kinds of annotators"),
    ],
)  # fmt: skip
def test_mistakes_in_who_have_places(hutch, here, text, wanted):
    (here / "who.yaml").write_text(text)
    done = hutch("label", "simulate", "--who", "who.yaml")
    assert done.code == 2 and wanted in done.err


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--target", "recal=0.9"], "--target: got 'recal=0.9', wanted accuracy=P"),
        (["--positive", "x"], "--positive: got 'x' with accuracy=0.95, wanted a target of one class"),
        (["--target", "f1=.9", "--positive", "x"], "--positive: got 'x' without --who, wanted --rate P"),
        (["--target", "f1=.9", "--rate", "0"], "--rate: got 0, wanted a number between 0 and 1"),
        (["--target", "accuracy=95"], "--target: got 'accuracy=95'"),
        (["--errors", "calibratd"], "--errors: got 'calibratd'; did you mean 'calibrated'?"),
        (["--accuracy", "0.4,0.9"], "--accuracy: got [0.4, 0.9], wanted numbers above 0.5"),
        (["--price", "1,2"], "--price: got 2 prices, wanted 3"),
        (["--confidence", "1"], "--confidence: got 1, wanted a number between 0 and 1"),
    ],
)
def test_mistakes_in_options(hutch, arguments, wanted):
    done = hutch("label", "simulate", "--items", 50, *arguments)
    assert done.code == 2 and wanted in done.err


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        ("small.tsv", "task\tlabel\tprobability\nt1\tyes\t1.5\n", "small.tsv:2:8: probability: got '1.5', wanted"),
        ("small.tsv", "gpt\tt1\tYes\n", "label: got 'yes' and 'Yes'; wanted one spelling"),
        ("small.tsv", "gpt\tx1\tyes\n", "small.tsv: got no item that is to be labelled, such as 'x1'"),
        ("small.tsv", None, "small.tsv: no such file"),
    ],
)
def test_votes_that_cannot_be(hutch, here, file, text, wanted):
    write_world(here)
    (here / file).write_text(text) if text is not None else (here / file).unlink()
    done = hutch("label", "simulate", "--who", "who.yaml")
    assert done.code == 1 and wanted in done.err


ASK = """
import json, sys
answers = json.load(open("answers.json"))
with open("asked.txt", "a", buffering=1) as log:  # it may be killed
    for line in sys.stdin:
        item = json.loads(line)
        log.write(item["id"] + chr(10))
        print(json.dumps({"id": item["id"], **answers[item["id"]]}), flush=True)
"""


def write_items(folder, items=300):
    (folder / "items.csv").write_text("id,text\n" + "".join(f"t{k},text {k}\n" for k in range(items)))


def test_labels_from_files_have_a_certificate_and_a_bill(hutch, here):
    world, names = write_world(here)
    write_items(here)
    arguments = ["label", "items.csv", "--who", "who.yaml", "--target", "accuracy=0.9", "--store", "s.db"]
    done = hutch(*arguments, "-p", "labels.tsv", "--json")
    found = json.loads(done.out)
    right = [found["labels"][f"t{k}"] == names[c] for k, c in enumerate(world.truth.tolist())]
    assert done.code == 0 and sum(right) / 300 >= 0.9 and found["low"] >= 0.9 - 1e-9
    assert {"accuracy", "low", "confidence", "audited", "spent", "labels"} <= found.keys()
    assert found["spent"] == pytest.approx(sum(found["bill"].values())) and found["bill"]["small"] == pytest.approx(0.3)
    rows = [line.split("\t") for line in (here / "labels.tsv").read_text().splitlines()]
    assert rows[0] == ["task", "label", "confidence", "by", "q:no", "q:yes"] and len(rows) == 301
    assert {row[0]: row[1] for row in rows[1:]} == found["labels"]
    again = json.loads(hutch(*arguments, "--json").out)
    assert again.pop("next_command").endswith("-p labels.tsv") and found.pop("next_command") is None
    assert again == found
    assert "at least 0.9" in hutch(*arguments).out
    changed = hutch(*arguments, "--seed", 5)
    assert changed.code == 1 and "seed: got 5, but it was 0 when it began" in changed.err


def test_a_command_is_asked_once_and_people_answer_in_the_store(hutch, here):
    world, names = write_world(here)
    write_items(here)
    (here / "ask.py").write_text(ASK)
    votes = world.votes[1]
    said = {
        f"t{k}": {"label": names[votes.label[k, 0]], "probability": float(votes.probability[k, 0])} for k in range(300)
    }
    (here / "answers.json").write_text(json.dumps(said))
    (here / "who.yaml").write_text(
        "small: {kind: judge, price: 0.001, votes: small.tsv}\n"
        "large: {kind: judge, price: 0.02, command: python3 ask.py}\n"
        "people: {kind: person, price: 0.50, store: true, labels: 2}\n"
    )
    from hutch.durable.records import make_answer
    from hutch.durable.store import Store

    arguments = [
        "label",
        "items.csv",
        "--who",
        "who.yaml",
        "--target",
        "accuracy=0.9",
        "--store",
        "s.db",
        "--json",
        "-p",
        "labels.tsv",
    ]
    plans = []
    for _ in range(200):
        done = hutch(*arguments)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        plans.append(found["planned"])
        if "labels" in found:
            break
        with Store("s.db") as store:
            for request in list(store.open_requests()):
                truth = int(world.truth[int(request.id[1:])]) + 1
                before = [
                    e.detail["worker"] for e in store.log() if e.kind == "answer" and e.detail["id"] == request.id
                ]
                for worker in [w for w in ("ann", "bob", "cy") if w not in before][: 2 if not before else 1]:
                    slip = request.id == "t7" and worker == "bob"  # two people disagree: a third is asked
                    store.answer([make_answer(request.id, worker, 3 - truth if slip else truth)])
    right = [found["labels"][f"t{k}"] == names[c] for k, c in enumerate(world.truth.tolist())]
    assert sum(right) / 300 >= 0.9
    assert plans[0] is None and set(map(tuple, filter(None, plans))) == {tuple(found["planned"])}
    assert found["planned"][0] < found["spent"] < found["planned"][2]
    with Store("s.db") as store:
        said = [e.detail for e in store.log() if e.kind == "answer" and e.detail["worker"] in ("ann", "bob", "cy")]
    assert found["bill"]["people"] == pytest.approx(0.5 * len(said))  # also of those after the proof
    checked = {line.split("\t")[0] for line in (here / "labels.tsv").read_text().splitlines() if "\tpeople\t" in line}
    assert checked == {each["id"] for each in said}
    asked = (here / "asked.txt").read_text().split()
    assert len(asked) == len(set(asked)) > 30


def test_a_command_that_fails_keeps_what_it_answered(hutch, here):
    write_world(here)
    write_items(here)
    (here / "ask.py").write_text(ASK)
    (here / "answers.json").write_text(json.dumps({f"t{k}": {"label": "no" if k else "nope"} for k in range(300)}))
    (here / "who.yaml").write_text(
        "large: {kind: judge, price: 0.02, command: python3 ask.py}\n"
        "people: {kind: person, price: 1, votes: people.tsv}\n"
    )
    arguments = ["label", "items.csv", "--who", "who.yaml", "--store", "s.db"]
    done = hutch(*arguments)
    assert done.code == 1 and "<python3 ask.py>:1: label: got 'nope', wanted one of no, yes" in done.err
    answers = {f"t{k}": {"label": "no" if k % 300 else None} for k in range(300)}
    answers["t150"] = {"label": "maybe"}
    (here / "answers.json").write_text(json.dumps(answers))
    done = hutch(*arguments)
    assert done.code == 1 and "<python3 ask.py>:151: label: got 'maybe'" in done.err
    (here / "answers.json").write_text(json.dumps(answers | {"t150": {"label": "yes"}}))
    before = (here / "asked.txt").read_text().split()
    assert hutch(*arguments).code == 0
    assert "t149" in before and "t149" not in (here / "asked.txt").read_text().split()[len(before) :]


def test_the_plan_costs_nothing(hutch, here):
    write_world(here)
    write_items(here)
    done = hutch("label", "items.csv", "--who", "who.yaml", "--store", "s.db", "--plan", "--json")
    found = json.loads(done.out)
    assert done.code == 0 and 0 < found["independent"] < found["misled"] and found["people_alone"] == 142.5
    assert not (here / "s.db").exists()
    (here / "few.txt").write_text("\n".join(f"t{k}" for k in range(40)))
    few = hutch("label", "few.txt", "--who", "who.yaml", "--store", "s.db", "--plan", "--target", "accuracy=0.98")
    assert "people alone are cheaper" in few.out


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("id,text\nt1,a\n,\nt1,b\n", "items.csv:4: got item 't1' twice"),
        ("name,text\nt1,a\n", "items.csv:2: got an item without an id"),
        ("id,text\n", "items.csv: got no items"),
    ],
)
def test_items_that_cannot_be(hutch, here, text, wanted):
    write_world(here)
    (here / "items.csv").write_text(text)
    done = hutch("label", "items.csv", "--who", "who.yaml", "--store", "s.db")
    assert done.code == 1 and wanted in done.err


@pytest.mark.parametrize("text", ["id\nt1\nt2\n", "text\tid\nt1\ta\n"])
def test_a_table_by_another_name_is_not_taken_as_lines(hutch, here, text):
    write_world(here)
    (here / "items.txt").write_text(text)
    done = hutch("label", "items.txt", "--who", "who.yaml", "--store", "s.db")
    assert done.code == 1 and "items.txt:1: got the header of a table, wanted it in a file .csv or .tsv" in done.err


def test_a_purchase_ends_in_a_verdict(hutch, here):
    write_world(here)
    write_items(here)
    asked = ("label", "items.csv", "--who", "who.yaml", "--target", "accuracy=0.9", "--store", "labels.db")
    found = json.loads(hutch(*asked, "--json").out)
    assert found["verdict"][0].startswith(f"At least {100 * found['low']:.1f} % of the 300 labels are right")
    assert f"{found['spent']:.6g} (" in found["verdict"][-1] and " from people alone." in found["verdict"][-1]
    assert found["next_command"] == f"hutch {' '.join(asked)} -p labels.tsv"
    again = hutch(*found["next_command"].split()[1:])
    assert again.code == 0 and "Next:" not in again.out
    assert " ".join(found["verdict"]) in " ".join(again.out.split())


def test_a_missed_target_is_said(hutch, here):
    write_world(here)
    write_items(here)
    asked = ("label", "items.csv", "--who", "who.yaml", "--target", "accuracy=0.99", "--store", "l.db", "--budget", 60)
    found = json.loads(hutch(*asked, "--json").out)
    assert found["low"] < 0.99
    assert found["verdict"][1] == "That is less than the target of 99 %: the budget is spent."
