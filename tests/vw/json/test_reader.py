"""Vowpal Wabbit's JSON: the same examples as text make the same batches, VW itself agrees, bad lines are named."""

import json
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from hutch.core.data.chunks import Chunk
from hutch.core.errors import DataError, UsageError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.vw.json.reader import JsonReader
from hutch.vw.json.rows import Store
from hutch.vw.main import run


def _run(tmp_path, name, text, arguments):
    """Predictions of `hutch vw`."""
    (tmp_path / name).write_text(text)
    assert run(["-d", str(tmp_path / name), "-p", str(tmp_path / "out"), "--quiet", *arguments.split()]) == 0
    return (tmp_path / "out").read_text()


SAME = [
    ('{"_label":1,"a":{"x":2,"y":0.5},"b":{"z":1}}', "1 |a x:2 y:0.5 |b z"),
    ('{"_label":"-1 2 0.25","_tag":"t","a":{"x":0,"y":true,"n":false,"m":null}}', "-1 2 0.25 t|a y"),
    ('{"_label":{"Label":2,"Weight":3,"Initial":0.5},"a":{"x":1}}', "2 3 0.5 |a x"),
    ('{"_label_Label":0.5,"_label_weight":2,"7":{"12":1,"012":2}}', "0.5 2 |7 12 012:2"),
    ('{"_label":1,"x":3,"s":"a b|c:d","_text":"one t:w|o\\tthree _f"}', "1 | x:3 sa_b_c_d one t_w_o three _f"),
    ('{"_label":1,"u":{"deep":{"f":1},"g":2}}', "1 |deep f |u g:2"),
    ('{"_label":1,"v":[{"p":1},{"q":2,"r":{"s":3}}]}', "1 |r s:3 |v p q:2"),
    ('{"_label":1,"é":{"日本":2},"_ignored":{"a":[1,{"b":2}]},"_x":7}', "1 |é 日本:2"),
    ('{"_label":1,"a":{},"b":{"c":0},"d":[]}', "1 |"),
    ('{"_label":1,"ab":{"x":1},"ac":{"y":1},"aa":{"z":1}}', "1 |ab x |ac y |aa z"),
]


@pytest.mark.parametrize(("line", "text"), SAME, ids=range(len(SAME)))
def test_same_as_text(line, text, tmp_path):
    arguments = "-q :: --invert_hash " + str(tmp_path / "names")
    found = _run(tmp_path, "json", f"{line}\n" * 3, f"--json {arguments}")
    names = (tmp_path / "names").read_text().partition(":0\n")[2]
    assert found == _run(tmp_path, "text", f"{text}\n" * 3, arguments)
    assert names == (tmp_path / "names").read_text().partition(":0\n")[2]


@pytest.mark.parametrize("slots", [pytest.param(False, marks=pytest.mark.slow), True])
def test_texts_are_left_out_as_if_they_were_not_there(slots, tmp_path):
    def line(more, top):
        actions = [{"k": {"a": 1, **more}}, {"k": {"a": 2, **more}, "d": 1}]
        label = {"_outcomes": [{"_label_cost": 1, "_a": [1, 0], "_p": [0.5, 0.5]}]} if slots else {"_labelIndex": 1}
        label |= {} if slots else {"_label_cost": 1, "_label_probability": 0.5, "_label_Action": 2}
        return (
            json.dumps({**label, "a": [2, 1], "c": {"u": {"x": 1}, **top, "_multi": actions}, "p": [0.5, 0.5]}) + "\n"
        )

    words = f"--dsjson -q :: --{'ccb' if slots else 'cb'}_explore_adf"
    words += f" --readable_model {tmp_path / 'weights'}"
    whole, found = line({"b": "text", "n": 1}, {"t": "out", "x": "in"}) * 3, []
    _run(tmp_path, "whole", whole, f"{words} --ignore_features_dsjson_experimental k|b |t k|n")
    found.append((tmp_path / "weights").read_text())
    for data in (line({"n": 1}, {"x": "in"}) * 3, whole):
        _run(tmp_path, "other", data, words)
        found.append((tmp_path / "weights").read_text())
    assert found[0] == found[1] != found[2]
    with pytest.raises(UsageError, match="got 'k', wanted NAMESPACE|FEATURE"):
        _run(tmp_path, "whole", whole, f"{words} --ignore_features_dsjson_experimental k")


def test_words_after_their_key_as_in_text(tmp_path):
    line = '{"_label":1,"u":{"city":"New York"},"_multi":[{"a":{"b":"c"}},{"a":{"b":"d"}}],"_labelIndex":1}'
    line = line.replace('"_label":1', '"_label_cost":1,"_label_probability":0.5,"_label_Action":2')
    text = "shared |u city:New_York\n|a b:c\n1:1:0.5 |a b:d\n\n"
    arguments = "--cb_explore_adf -q ua"
    found = _run(tmp_path, "json", f"{line}\n" * 3, f"--json --chain_hash {arguments}")
    assert found == _run(tmp_path, "text", text * 3, arguments)
    rows = []
    for chained in ("", "--chain_hash"):
        _run(tmp_path, "json", f"{line}\n", f"--json {chained} {arguments} --readable_model {tmp_path / 'm'}")
        rows.append((tmp_path / "m").read_text().partition(":0\n")[2])
    assert rows[0] != rows[1]


def test_lists_of_numbers_have_places(tmp_path):
    found = _run(tmp_path, "json", '{"_label":1,"7":[0.5,0,null,2]}\n' * 3, "--json")
    assert found == _run(tmp_path, "text", "1 |7 0:0.5 2:2\n" * 3, "")


def test_a_dropped_share_of_a_log_is_made_up_for(tmp_path):
    actions = '"_multi":[{"a":{"b":1}},{"a":{"c":1}}]'
    label = '"_label_cost":1,"_label_probability":0.5,"_labelIndex":0'
    whole = f'{{{label},"a":[1,2],"c":{{"u":{{"v":1}},{actions}}}}}\n'
    half = f'{{{label},"a":[1,2],"c":{{"u":{{"v":1}},{actions}}},"pdrop":0.5}}\n'
    text = "shared |u v\n0:1:0.5 |a b\n|a c\n\n"
    model = f"--cb_explore_adf --readable_model {tmp_path / 'm'}"
    models = []
    for name, data, how in (("a", whole * 2, "--dsjson"), ("b", text * 2, ""), ("c", half * 2, "--dsjson")):
        _run(tmp_path, name, data, f"{how} {model}")
        models.append((tmp_path / "m").read_text().partition(":0\n")[2])
    assert models[0] == models[1] != models[2]


BAD = [
    ("--json", "", "1:1: bad JSON: the line is skipped, got 'an empty line'"),
    ("--json", '{"a":{"x":1}', "1:13: bad JSON"),
    ("--json", '{"a":{"x":NaN}}', "got 'NaN', wanted a number or null"),
    ("--json", '{"a":{"x":1e39}}', "got '1e+39', wanted a number below 3.4e38"),
    (
        "--json",
        '{"a":{"x":[1,-1.7976931348623157e308]}}',
        "got '-1.7976931348623157e+308', wanted a number below 3.4e38",
    ),
    ("--json", '{"a":{"x":1' + "0" * 50 + "}}", "got '100000000000000000000000…', wanted a number below 3.4e38"),
    ("--json", '{"_label":{"Label":1e308},"x":1}', "got 'label: 1e+308', wanted a number below 3.4e38"),
    ("--json", '{"a":{"x":1' + "0" * 5000 + "}}", "bad JSON"),
    ("--json", "[1]", "no object"),
    ("--json", "[" * 100_000, "bad JSON"),
    ("--json", '{"a":["x"]}', "wanted numbers or objects"),
    ("--json", '{"_label":"x y z w","a":{"x":1}}', "_label:1:1"),
    ("--json", '{"_label":[1],"a":{"x":1}}', "wanted a number, a text or an object"),
    ("--json", '{"_multi":[{"a":{"x":1}}]}', "in a chain that takes single examples"),
    (
        "--json",
        r'{"_tag":"\ud83d\ude00 \ud800","x":1}',
        "1:23: bad JSON: the line is skipped, got 'half a surrogate",
    ),
    ("--json", r'{"x":"\udc00"}', "half a surrogate pair"),
    ("--json", '{"_label":{"Label":1,"Weight":-1},"x":1}', "weight: -1', wanted a number of at least 0"),
    ("--json --oaa 3", '{"_label":{"Label":1.5},"x":1}', "label: 1.5', wanted a class"),
    ("--json --cb_adf", '{"a":{"x":1}}', "no actions"),
    ("--json --cb_adf", '{"_multi":[]}', "no actions"),
    ("--json --cb_adf", '{"_multi":[1]}', "wanted a list of objects"),
    ("--json --cb_adf", '{"_multi":[{"u":{"_multi":[]}}]}', "_multi within another object"),
    ("--json --cb_adf", '{"_label_cost":1,"_label_probability":0.5,"_multi":[{"x":1}]}', "without _labelIndex"),
    (
        "--json --cb_adf",
        '{"_label_cost":1,"_label_probability":2,"_labelIndex":0,"_multi":[{"x":1}]}',
        "probability: 2",
    ),
    (
        "--json --cb_adf",
        '{"_label_Action":-2,"_label_cost":1,"_label_probability":1,"_labelIndex":0,"_multi":[{"x":1}]}',
        "action: -2', wanted a number from 0",
    ),
    (
        "--json --cb_adf",
        '{"_multi":[{"x":1,"_label":"0:1:0.5"},{"x":2,"_label":"0:2:0.5"}]}',
        "_label of several actions', wanted one chosen action",
    ),
    ("--json --cb_adf", '{"_label_cost":"1","_labelIndex":0,"_multi":[{"x":1}]}', "cost: '1'\", wanted a number"),
    ("--dsjson --cb_adf", '{"a":[1],"c":7}', "wanted an object under 'c'"),
    ("--dsjson --cb_adf", '{"a":[1],"c":{"_multi":[{"x":1}]},"pdrop":1}', "pdrop 1', wanted a number from 0, below 1"),
    (
        "--dsjson --cb_adf",
        '{"_label_cost":1,"_label_probability":1,"_labelIndex":5,"a":[1],"c":{"_multi":[{"x":1}]}}',
        "_labelIndex 5', wanted a number below that of the actions, 1",
    ),
]


@pytest.mark.parametrize(("arguments", "line", "message"), BAD, ids=range(len(BAD)))
def test_bad_lines_are_named_and_passed_over(arguments, line, message, tmp_path, capsys):
    good = '{"a":[1],"c":{"_multi":[{"x":1}]}}' if "dsjson" in arguments else '{"_multi":[{"x":1}]}'
    good = good if "adf" in arguments or "cb_adf" in arguments else '{"x":1}'
    path = tmp_path / "data.json"
    path.write_bytes(f"{line}\n{good}\n".encode())
    assert run(["-d", str(path), "-p", str(tmp_path / "out"), *arguments.split()]) == 0
    assert f"{path}:1:" in (told := capsys.readouterr().err) and message in told
    assert (tmp_path / "out").read_text().count("1" if "--oaa" in arguments else "0") == 1
    with pytest.raises(DataError, match="bad JSON"):
        run(["-d", str(path), *arguments.split(), "--strict_parse", "--quiet"])


def test_lines_of_a_log_that_are_none_are_passed_over(tmp_path):
    lines = ["not json", '{"_skipLearn":true,"a":[1],"c":{"_multi":[{"x":1}]}}', '{"c":{"_multi":[{"x":1}]}}']
    lines.append('{"a":[1],"c":{"_multi":[{"x":1}]}}')
    assert _run(tmp_path, "json", "\n".join(lines), "--dsjson --cb_adf") == "0\n\n"


def _leave(store, start, stop, ids, groups):
    """In place of the kernel: leave every line to Python."""
    store.record["decisions"] = groups
    return start


def _batches(data, kernel, monkeypatch, *, log, chained, label="logged_action", **options):
    """Batches and problems of a chunk; without the kernel, Python reads every line."""
    parser = ParserOptions(label=label, **options)
    text = np.frombuffer(bytes(64) + data + bytes(64), np.uint8)[64:-64]
    reader, problems = JsonReader(parser, log=log, chained=chained), TextParser(parser, "x")
    with monkeypatch.context() as patch:
        if not kernel:
            patch.setattr(Store, "read", _leave)
        batches = list(reader(iter([Chunk("x", 0, 0, text, len(data))] * 2), problems))
    return batches, [*map(str, problems.problems), *problems.problems.counts.tolist()]


def _assert_same(data, monkeypatch, **options):
    (fast, told), (slow, wanted) = (_batches(data, kernel, monkeypatch, **options) for kernel in (True, False))
    assert told == wanted
    assert len(fast) == len(slow)
    for one, other in zip(fast, slow, strict=True):
        for each in fields(one):
            np.testing.assert_array_equal(getattr(one, each.name), getattr(other, each.name), each.name)


USUAL = (
    b'{"_label_cost":-1,"_label_probability":0.8500000238418579,"_label_Action":2,"_labelIndex":1,"o":[{"v":{"x":null}}],'
    b'"Timestamp":"2017-11-14T21:10Z","a":[2,1],"c":{"GUser":{"id":"Tom H","12":3,"z":0,"f":-1.5e-3,"n":null},'
    b'"_multi":[{"TAction":{"topic":"a:b|c"},"late":1.25},{"T":{"x":true,"y":false}, "w":"v", "G":{}}]},"p":[0.8,2E-1],'
    b'"VWState":{"m":"x"},"pdrop":0.0,"_original_label_cost":-1}\n'
)


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"namespaces": "letter"}, {"hash": "all", "hash_seed": 7}, {"bits": 30}, {"label": "action_costs"}]
)
def test_the_kernel_reads_what_python_reads(options, chained, monkeypatch):
    log = USUAL * 3
    _assert_same(log, monkeypatch, log=True, chained=chained, **options)
    plain = (
        USUAL.replace(b'"c":{', b"").replace(b'},"p":', b',"_p":').replace(b'"a":[2,1],', b"").replace(b'"o"', b'"_o"')
    )
    _assert_same(plain * 3, monkeypatch, log=False, chained=chained, **options)


SINGLE = (
    b'{"_label":1,"u":{"id":"Tom H","12":3,"z":0,"f":-1.5e-3,"_text":"a b:c |d _e :f"},"x":2,"w":"v","_text":"to be"}\n'
    b'{"a":{"x":true,"y":null}, "_text":"  twice  twice ","t":true}\n'
)


@pytest.mark.parametrize("label", ["simple", "multiclass"])
@pytest.mark.parametrize("options", [{}, {"namespaces": "letter", "bits": 30}, {"hash": "all", "hash_seed": 7}])
def test_the_kernel_reads_the_single_examples_that_python_reads(options, label, monkeypatch):
    labels = (
        b"0 2 -0 -1 0.5 2.0 0.10 1e1 1e-5 0.00001 -0.3 16777217 123456789012345 1.1754943508222875e-38 null".split()
    )
    labels += [b"0.1234567890123", b"123456789012345678", b"{}", b"[1]", b'"1" ,"_tag" :"a b\\u00e9"', b'1,"_tag":7']
    labels += [b'1,"_tag":"one","_tag":"two","_label":2', b'{"Weight":3},"_label":0.5', b'"1","_label_weight":2']
    texts = (
        "|1|-1.5|1 2|1 2 0.5|3 0 -2|1 2 3 4|1 -2|-0 1| 1|1  2|1 |1.|.5|1e2|0x1|+1|--1|1-|1'a|a|1.5.5|12345678901234567"
    )
    labels += [b'"%s"' % each for each in texts.encode().split(b"|")]
    objects = '"Label":3|"label":-1.5,"Weight":2,"INITIAL":0.25|"Weight":0|"Label":null|"Label":1,"Label":2|"other":1'
    objects += '|"Label":1e39|"Label":"1"|"Label":true|"Cost":1|"Weight":-1| "Label" : 1 , "Weight" : 0.1 |"Label":1,'
    labels += [b"{%s}" % each for each in objects.encode().split(b"|")]
    data = b"".join(SINGLE.replace(b'"_label":1', b'"_label":' + each) for each in labels)
    _assert_same(data, monkeypatch, log=False, chained=label == "simple", label=label, **options)


def test_usual_single_examples_are_read_by_the_kernel_alone(monkeypatch):
    monkeypatch.setattr(JsonReader, "_read", lambda *_: pytest.fail("a usual line went to Python"))
    reader = JsonReader(ParserOptions(label="simple"), log=False, chained=False)
    for name in "ua":
        reader.names.space(name)
    data = SINGLE * 2 + SINGLE.replace(b":1,", b":-0.25,", 1)
    data += SINGLE.replace(b":1,", b':{"label":2,"weight":3,"initial":0.5},"_tag":"seen",') + SINGLE.replace(
        b":1,", b':{"Label":3,"Weight":2},'
    )
    text = np.frombuffer(data + bytes(64), np.uint8)[: len(data)]
    [batch] = reader(iter([Chunk("x", 0, 0, text, len(data))]), TextParser(reader._options, "x"))
    assert batch.labels[::2].tolist() == [1, 1, -0.25, 2, 3] and (batch.labels[1::2] == UNLABELED).all()
    assert batch.importance[::2].tolist() == [1, 1, 1, 3, 2] and batch.base[::2].tolist() == [0, 0, 0, 0.5, 0]
    assert batch.tags.tobytes() == b"seen" and np.diff(batch.tag_ptr).tolist() == [0] * 6 + [4] + [0] * 3
    assert batch.row_ptr.tolist()[:3] == [0, 13, 18]


def test_the_kernel_reads_usual_lines_itself(monkeypatch):
    monkeypatch.setattr(JsonReader, "_read", lambda *_: pytest.fail("a usual line went to Python"))
    reader = JsonReader(ParserOptions(label="logged_action", namespaces="letter"), log=True, chained=False)
    for name in "GTVw":
        reader.names.space(name)
    line = USUAL * 2
    text = np.frombuffer(line + bytes(64), np.uint8)[: len(line)]
    [batch] = reader(iter([Chunk("x", 0, 0, text, len(line))]), TextParser(reader._options, "x"))
    assert len(batch) == 6 and batch.group.tolist() == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("log", [False, True])
def test_the_kernel_is_never_wrong_about_damaged_lines(log, monkeypatch):
    random = np.random.default_rng(5 + log)
    line = USUAL if log else json.dumps({**json.loads(USUAL)["c"], "_label_cost": 1, "_labelIndex": 0}).encode() + b"\n"
    some = [
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"0",
        b"9",
        b"-",
        b".",
        b"e",
        b"_",
        b"\\",
        b" ",
        b"t",
        b"1e5",
        b"\xff",
    ]
    some += [
        b'"_label_cost":2',
        b'"_text":"a b"',
        b'"_multi":[]',
        b"null",
        b"0.30000000000000004",
        b"1e400",
        b"\t",
        b"",
    ]
    lines = []
    for _ in range(3000):
        at, size = int(random.integers(len(line))), int(random.integers(3))
        lines.append(line[:at] + some[random.integers(len(some))] + line[at + size :])
    data = b"".join(each if each.endswith(b"\n") else each + b"\n" for each in lines)
    _assert_same(data, monkeypatch, log=log, chained=log)


def test_the_kernel_is_never_wrong_about_damaged_single_examples(monkeypatch):
    random, line = np.random.default_rng(9), SINGLE.splitlines()[0]
    lines_of = [
        line,
        line.replace(b":1,", b':"2 3.5 -1","_tag":"it",'),
        line.replace(b":1,", b':{"Label":2,"Weight":3},'),
    ]
    some = r"""" { } [ , : 0 - . e _ \ t "_label":2, "_tag":"x", "_label_weight":2, "_multi":[] null 1e400""".split()
    some += [" ", "\t", ""]
    lines = []
    for k in range(6000):
        line = lines_of[k % 3]
        at, size = int(random.integers(len(line))), int(random.integers(3))
        lines.append(line[:at] + some[random.integers(len(some))].encode() + line[at + size :])
    _assert_same(b"\n".join(lines) + b"\n", monkeypatch, log=False, chained=False, label="simple")


@pytest.mark.parametrize("digits", [5, 15, 16, 17, 18, 19])
def test_numbers_are_rounded_as_python_rounds_them(digits, monkeypatch):
    random = np.random.default_rng(digits)
    numbers = [f"{x:.{digits}g}" for x in random.normal(size=500) * 10.0 ** random.integers(-12, 12, 500)]
    numbers += ["1", "1.0", "16777217", "0.1", "5e-1", "-0", "0.0e5", "123456789012345678", "1.00000005960464477539"]
    lines = [f'{{"u":{{"x":{x}}},"_multi":[{{"a":{{"y":1}}}}]}}\n' for x in numbers]
    _assert_same("".join(lines).encode(), monkeypatch, log=False, chained=False)


def _object(random, depth):
    """Random features."""
    found = {}
    for _ in range(random.integers(0, 5)):
        key = random.choice(["a", "ab", "b", "7", "_text", "x y", "xé", "_q"])
        value = random.choice(["number", "text", "true", "null", "list", "object"])
        if key == "_text":
            found[key] = "one two:2 three|x _four :"
        elif value == "number":
            found[key] = round(float(random.normal()), int(random.integers(0, 6)))
        elif value == "text":
            found[key] = str(random.choice(["u v", "w:1|", "12", "ü"]))
        elif value == "true" or value == "null":
            found[key] = True if value == "true" else None
        elif value == "list":
            found[key] = [float(random.integers(0, 3)) for _ in range(random.integers(1, 4))]
        elif depth:
            found[key] = _object(random, depth - 1)
    return found


def _decision(random, log):
    n = int(random.integers(1, 5))
    label = {"_label_cost": random.random().__round__(3), "_label_probability": 0.5, "_label_Action": 1}
    label["_labelIndex"] = int(random.integers(n))
    if random.random() < 0.2:
        label = {}
    actions = [{"k": {f"a{random.integers(5)}": 1}, **_object(random, 2)} for _ in range(n)]
    context = {"s": {"u": 1}, **_object(random, 2), "_multi": actions}
    if not log:
        return json.dumps({**label, **context}, ensure_ascii=False)
    more = {"pdrop": 0.25} if random.random() < 0.3 else {}
    return json.dumps({**label, "EventId": "e", "a": [1], "c": context, "p": [1], **more}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("arguments", "seed"),
    [
        ("--json -q ::", 1),
        ("--json --chain_hash --oaa 3", 2),
        ("--json --cb_explore_adf -q sk", 3),
        ("--json --chain_hash --cb_explore_adf --squarecb -q ::", 4),
        ("--dsjson --cb_explore_adf --cover 2 -q ak", 5),
        ("--dsjson --chain_hash --cb_adf --rank_all --cb_type dr -q ::", 6),
        ("--dsjson --cb_explore_adf -q :: --ignore_features_dsjson_experimental k|ab a|b |b a|7 |7", 7),
    ],
)
def test_same_as_vw(arguments, seed, tmp_path, monkeypatch):
    pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(seed)
    if "adf" in arguments:
        lines = [_decision(random, "dsjson" in arguments) for _ in range(60)]
    else:
        lines = [json.dumps({"_label": int(random.integers(1, 4)), **_object(random, 2), "k": 1}) for _ in range(60)]
    (tmp_path / "data").write_text("\n".join(lines) + "\n")
    words = ["-d", "data", *arguments.split(), "--quiet"]
    subprocess.run([sys.executable, "-m", "vowpalwabbit", *words, "-p", "theirs"], check=True, timeout=120)
    assert run([*words, "-p", "ours"]) == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
