"""Small files as the tools write them, read without an option."""

import io
import json
import struct
import zipfile

import pytest
from zstandard import ZstdCompressor

from hutch.core.errors import DataError, UsageError
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.label_stream import label_blocks
from hutch.crowd.read.labels import read_labels, read_questions


def read(path, content, **options):
    """(triples, gold by task, counts of what was left out) of a file."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    labels = read_labels(path, **options)
    triples = [
        (labels.worker_names[w], labels.item_names[i], labels.classes[c])
        for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]
    gold = {labels.item_names[i]: labels.classes[k] for i, k in enumerate(labels.gold.tolist()) if k >= 0}
    return triples, gold, {why: count for why, (count, _) in labels.problems.found.items()}


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def annotation(worker, choice, **more):
    result = [{"type": "choices", "from_name": "q", "to_name": "text", "value": {"choices": choice}}]
    return {"id": 1, "completed_by": worker, "result": result, "was_cancelled": False, "ground_truth": False} | more


LABEL_STUDIO = [
    {"id": 7, "annotations": [annotation(1, ["cat"]), annotation({"id": 2, "email": "b@x.org"}, ["dog"])]},
    {
        "id": 8,
        "annotations": [
            annotation(1, ["dog"], was_cancelled=True),
            annotation(None, ["cat"]),
            annotation(3, ["cat", "dog"]),
            annotation(3, []),
            annotation(4, ["dog"], ground_truth=True),
        ],
    },
    {"id": 9, "annotations": [], "data": {"text": "nobody"}},
]
LABEL_STUDIO_CSV = (
    '"annotation_id","annotator","created_at","id","lead_time","mood","text","updated_at"\n'
    '1,"a@x.org","2026-01-01",7,1.5,"cat","one","2026-01-01"\n'
    '2,"b@x.org","2026-01-01",7,1.5,"dog","one","2026-01-01"\n'
    '3,"a@x.org","2026-01-01",8,1.5,"{""choices"": [""cat"", ""dog""]}","two","2026-01-01"\n'
    '4,"b@x.org","2026-01-01",8,1.5,"","two","2026-01-01"\n'
)
TOLOKA = (
    "INPUT:image\tOUTPUT:result\tGOLDEN:result\tHINT:text\tASSIGNMENT:link\tASSIGNMENT:assignment_id\t"
    "ASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\n"
    "a.png\tcat\tcat\t\thttp://x\t1\tw1\tAPPROVED\t2026\n"
    "a.png\tdog\tcat\t\thttp://x\t2\tw2\tREJECTED\t2026\n"
    "b.png\tdog\t\t\thttp://x\t1\tw1\tAPPROVED\t2026\n"
    "b.png\t\t\t\thttp://x\t3\tw3\tSUBMITTED\t2026\n"
)
MTURK = (
    '"HITId","HITTypeId","Title","AssignmentId","WorkerId","AssignmentStatus","WorkTimeInSeconds","Input.url",'
    '"Answer.animal","Approve","Reject"\n'
    '"h1","t","x","a1","w1","Approved","9","a.png","cat","",""\n'
    '"h1","t","x","a2","w2","Submitted","9","a.png","dog","",""\n'
    '"h2","t","x","a3","w1","Rejected","9","b.png","cat","",""\n'
    '"h2","t","x","a4","w2","Approved","9","b.png","","",""\n'
)
MTURK_JSON = (
    "HITId,WorkerId,AssignmentStatus,Answer.taskAnswers\n"
    'h1,w1,Approved,"[{""animal"":{""label"":""cat""}}]"\n'
    'h1,w2,Approved,"[{""animal"":{""cat"":false,""dog"":true}}]"\n'
    'h2,w1,Approved,"[{""animal"":{""cat"":true,""dog"":true}}]"\n'
    'h2,w2,Approved,"[{""animal"":{""cat"":false,""dog"":false}}]"\n'
)
MTURK_CHOICES = (
    "HITId,WorkerId,AssignmentStatus,Answer.animal.cat,Answer.animal.dog,Answer.animal.fox,Answer.comment\n"
    "h1,w1,Approved,true,false,,nice\nh1,w2,Approved,false,true,,\nh1,w3,Rejected,true,false,,\n"
    "h2,w1,Approved,true,true,,\nh2,w2,Approved,false,false,,\n"
)
OPTIONS = [{"id": "cat", "text": "Cat"}, {"id": "dog", "text": "Dog"}]
PRODIGY = lines(
    {"text": "one", "_input_hash": -5, "_task_hash": 1, "options": OPTIONS, "accept": ["cat"], "answer": "accept",
     "_view_id": "choice", "_annotator_id": "pets-ann", "_session_id": "pets-ann"},
    {"text": "one", "_input_hash": -5, "_task_hash": 2, "options": OPTIONS, "accept": ["dog"], "answer": "accept",
     "_session_id": "pets-bob"},
    {"text": "two", "_input_hash": 6, "_task_hash": 3, "options": OPTIONS, "accept": [], "answer": "ignore",
     "_session_id": "pets-ann"},
    {"text": "two", "_input_hash": 6, "_task_hash": 3, "options": OPTIONS, "accept": ["cat", "dog"], "answer": "accept",
     "_session_id": "pets-bob"},
    {"text": "two", "_input_hash": 6, "_task_hash": 3, "options": OPTIONS, "accept": ["cat"], "answer": "reject",
     "_session_id": "pets-cy"},
)  # fmt: skip
PRODIGY_BINARY = lines(
    {"text": "one", "label": "CAT", "_input_hash": 5, "_task_hash": 1, "answer": "accept", "_session_id": "pets-ann"},
    {"text": "one", "label": "CAT", "_input_hash": 5, "_task_hash": 1, "answer": "reject", "_session_id": "pets-bob"},
)
PRODIGY_SPANS = lines(
    {"text": "one", "_input_hash": 5, "_task_hash": 1, "spans": [{"start": 0, "end": 3, "label": "X"}],
     "answer": "accept", "_view_id": "ner_manual", "_annotator_id": "ann"},
    {"text": "one", "_input_hash": 5, "_task_hash": 1, "spans": [], "answer": "accept", "_annotator_id": "bob"},
    {"text": "two", "_input_hash": 6, "_task_hash": 2, "answer": "ignore", "_view_id": "ner_manual"},
    {"text": "two", "_input_hash": 6, "_task_hash": 2, "label": "X", "spans": [{"start": 0, "end": 3}],
     "answer": "reject", "_view_id": "ner", "_annotator_id": "ann"},
)  # fmt: skip
POTATO = lines(
    {"id": "i1", "displayed_text": "A", "user_id": "ann", "label_annotations": {"mood": {"good": "true"}}},
    {"id": "i1", "displayed_text": "A", "user_id": "bob", "label_annotations": {"mood": {"bad": True, "good": ""}}},
    {"id": "i2", "displayed_text": "B", "user_id": "ann", "label_annotations": {"mood": {"good": True, "bad": True}}},
    {"id": "i2", "displayed_text": "B", "user_id": "bob", "label_annotations": {}, "span_annotations": {"s": [1]}},
    {"id": "i3", "displayed_text": "C", "user_id": "bob", "label_annotations": {"mood": {"scale": "4"}}},
)  # fmt: skip
APPEN = (
    "_unit_id,_golden,_tainted,_trust,_worker_id,_country,mood,why,mood_gold,text\n"
    '1,FALSE,FALSE,.9,21,USA,good,,,"so, it is"\n1,FALSE,FALSE,.8,22,USA,bad,late,,x\n1,FALSE,TRUE,.1,23,USA,bad,,,x\n'
    "2,TRUE,FALSE,.9,21,USA,good,,good,y\n"
)
ZOONIVERSE = "classification_id,user_name,user_id,workflow_id,annotations,subject_data,subject_ids\n" + "".join(
    f'{k},{who},,7,"{json.dumps(given).replace(chr(34), chr(34) * 2)}",{{}},{subject}\n'
    for k, (who, subject, given) in enumerate(
        [
            ("ann", 31, [{"task": "T0", "value": "Yes"}]),
            ("not-logged-in-1", 31, [{"task": "T0", "value": [{"choice": "FOX", "answers": {}}]}]),
            ("ann", 32, [{"task": "T0", "value": [{"x": 1.5, "y": 2}]}]),
            ("bob", 32, [{"task": "T0", "value": ["a", "b"]}]),
            ("cy", 32, []),
        ]
    )
)
PIGEON = [["a.png", "cat"], ["b.png", "dog"]]
WIDE_RECORDS = [{"idx": 0, "r1": 2, "r2": 2}, {"idx": 1, "r1": 0, "r2": None}, {"idx": 2, "r1": 2, "r2": 0}]
DOCCANO = lines({"id": 1, "text": "one", "label": ["cat"], "Comments": []},
                {"id": 2, "text": "two", "label": ["cat", "dog"]}, {"id": 3, "text": "three", "label": []})  # fmt: skip
DOCCANO_USERS = lines(
    {"id": 1, "text": "one", "meta": {}, "annotations": [{"label": 3, "user": 1}, {"label": 4, "user": 2}]},
    {"id": 2, "text": "two", "meta": {}, "annotations": []},
)
DOCCANO_NAMES = lines({"doc_id": 1, "text": "one", "labels": ["cat"], "username": "ann"},
                      {"doc_id": 1, "text": "one", "labels": ["dog"], "username": "bob"})  # fmt: skip
ARGILLA = [
    {"id": "r1", "fields": {"text": "one"}, "metadata": {}, "suggestions": {}, "vectors": {}, "status": "completed",
     "_server_id": "s1",
     "responses": {"animal": [{"value": "cat", "user_id": "u1"}, {"value": "dog", "user_id": "u2"}]}},
    {"id": "r2", "fields": {"text": "two"}, "metadata": {}, "suggestions": {}, "vectors": {}, "status": "pending",
     "responses": {"animal": [{"value": ["cat", "dog"], "user_id": "u1"}]}, "_server_id": "s2"},
    {"id": "r3", "fields": {"text": "three"}, "metadata": {}, "suggestions": {}, "vectors": {}, "status": "pending",
     "responses": {}, "_server_id": "s3"},
]  # fmt: skip
WIDE = "item,text,ann,bob,cy,gold\nt1,so it is,cat,dog,,cat\nt2,it is not,dog,dog,cat,\n"
INSPECT = {
    "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
    "samples": [
        {"id": "s1", "epoch": 1, "input": "x", "target": "y",
         "scores": {"gpt": {"value": "C", "answer": "y"}, "claude": {"value": "I"}}},
        {"id": 2, "epoch": 1, "input": "x", "target": "y",
         "scores": {"gpt": {"value": 1.0}, "claude": {"value": {"a": 1}}}},
    ],
}  # fmt: skip
PROMPTFOO = {
    "evalId": "e", "config": {}, "results": {"version": 3, "timestamp": "2026", "prompts": [], "results": [
        {"testIdx": 0, "promptIdx": 1, "success": True, "gradingResult": {"pass": True, "componentResults": [
            {"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "value": "is polite"}},
            {"pass": False, "score": 0, "assertion": {"type": "human"}},
            {"pass": True, "score": 1, "assertion": {"type": "g-eval", "value": "x", "metric": "tone"}}]}},
        {"testIdx": 1, "promptIdx": 0, "success": False, "error": "timed out", "gradingResult": None},
    ]},
}  # fmt: skip
DEEPEVAL = {
    "testCases": [
        {"name": "case_0", "input": "x", "success": False, "metricsData": [
            {"name": "Tone", "score": 0.9, "success": True, "evaluationModel": "gpt", "threshold": 0.5},
            {"name": "Tone", "score": 0.1, "success": False, "evaluationModel": "claude", "threshold": 0.5}]},
        {"name": "case_0", "input": "y", "metricsData": [{"name": "Tone", "success": None, "error": "no key"}]},
    ],
}  # fmt: skip

TWO = [("w1", "h1", "cat"), ("w2", "h1", "dog")]
EXPECTED = {
    "label_studio.json": (LABEL_STUDIO, [("1", "7", "cat"), ("b@x.org", "7", "dog"), ("", "8", "cat")], {"8": "dog"},
                          {"with two labels at once": 1, "without a label": 1, "skipped": 1}),
    "label_studio.csv": (LABEL_STUDIO_CSV, [("a@x.org", "7", "cat"), ("b@x.org", "7", "dog")], {},
                         {"with two labels at once": 1, "without a label": 1}),
    "toloka.tsv": (TOLOKA, [("w1", "a.png", "cat"), ("w1", "b.png", "dog")], {"a.png": "cat"},
                   {"rejected": 1, "without a label": 1}),
    "mturk.csv": (MTURK, TWO, {}, {"rejected": 1, "without a label": 1}),
    "mturk_elements.csv": (MTURK_JSON, TWO, {}, {"with two labels at once": 1, "without a label": 1}),
    "doccano_names.jsonl": (DOCCANO_NAMES, [("ann", "1", "cat"), ("bob", "1", "dog")], {}, {}),
    "prodigy.jsonl": (PRODIGY, [("pets-ann", "-5", "cat"), ("pets-bob", "-5", "dog")], {},
                      {"with two labels at once": 1, "without a label": 1, "skipped": 1}),
    "prodigy_binary.jsonl": (PRODIGY_BINARY, [("pets-ann", "1", "accept"), ("pets-bob", "1", "reject")], {}, {}),
    "prodigy_spans.jsonl": (PRODIGY_SPANS, [("ann", "2", "reject")], {},
                            {"with spans, which are not classes": 2, "skipped": 1}),
    "potato.jsonl": (POTATO, [("ann", "i1", "good"), ("bob", "i1", "bad"), ("bob", "i3", "4")], {},
                     {"with two labels at once": 1, "with spans, which are not classes": 1}),
    "appen.csv": (APPEN, [("21", "1", "good"), ("22", "1", "bad"), ("21", "2", "good")], {"2": "good"}, {"tainted": 1}),
    "zooniverse.csv": (ZOONIVERSE, [("ann", "31", "Yes"), ("not-logged-in-1", "31", "FOX")], {},
                       {"with a label that is neither a word nor a number": 1, "with two labels at once": 1,
                        "without a label": 1}),
    "pigeon.json": (PIGEON, [("", "a.png", "cat"), ("", "b.png", "dog")], {}, {}),
    "wide.json": (WIDE_RECORDS, [("r1", "0", "2"), ("r2", "0", "2"), ("r1", "1", "0"), ("r1", "2", "2"),
                                 ("r2", "2", "0")], {}, {}),
    "doccano.jsonl": (DOCCANO, [("", "1", "cat")], {}, {"with two labels at once": 1, "without a label": 1}),
    "doccano_users.jsonl": (DOCCANO_USERS, [("1", "1", "3"), ("2", "1", "4")], {}, {"without a label": 1}),
    "argilla.json": (ARGILLA, [("u1", "r1", "cat"), ("u2", "r1", "dog")], {},
                     {"with two labels at once": 1, "without a label": 1}),
    "wide.csv": (WIDE, [("ann", "t1", "cat"), ("bob", "t1", "dog"), ("ann", "t2", "dog"), ("bob", "t2", "dog"),
                        ("cy", "t2", "cat")], {"t1": "cat"}, {}),
    "inspect.json": (INSPECT, [("gpt", "s1", "C"), ("claude", "s1", "I"), ("gpt", "2", "1")], {},
                     {"with several values (--columns label=NAME takes one of: a)": 1}),
    "promptfoo.json": (PROMPTFOO, [("llm-rubric: is polite", "0:1", "pass"), ("human", "0:1", "fail"),
                                   ("tone", "0:1", "pass")], {}, {"without a label": 1}),
    "promptfoo.jsonl": (lines(*PROMPTFOO["results"]["results"]), [("llm-rubric: is polite", "0:1", "pass"),
                        ("human", "0:1", "fail"), ("tone", "0:1", "pass")], {}, {"without a label": 1}),
    "deepeval.json": (DEEPEVAL, [("Tone (gpt)", "case_0", "pass"), ("Tone (claude)", "case_0", "fail")], {},
                      {"without a label": 1}),
    "records.jsonl": (lines({"annotator": "a", "item": 1, "label": "x", "gold": None},
                            {"annotator": "b", "item": 1, "label": "", "gold": "y"}), [("a", "1", "x")], {"1": "y"},
                      {"without a label": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_an_export_is_read_without_an_option(tmp_path, name):
    content, *expected = EXPECTED[name]
    triples, gold, problems = read(tmp_path / "labels", content)  # the name tells nothing
    assert [sorted(triples), gold, problems] == [sorted(expected[0]), *expected[1:]]
    assert read_labels(tmp_path / "labels").form


def test_a_column_per_choice(tmp_path):
    with pytest.raises(DataError, match="'Answer.comment' and 'animal', wanted one label"):
        read(tmp_path / "labels", MTURK_CHOICES)
    triples, _, problems = read(tmp_path / "labels", MTURK_CHOICES, columns="label=animal")
    assert triples == TWO
    assert problems == {"rejected": 1, "with two labels at once": 1, "without a label": 1}
    assert (
        read_labels(tmp_path / "labels", columns="label=animal").problems.found["with two labels at once"][1]
        == "line 5"
    )
    boxes = "HITId,WorkerId,Answer.cat.on,Answer.dog.on\nh1,w1,true,false\nh1,w2,false,true\n"
    assert read(tmp_path / "labels", boxes)[0] == TWO
    several = 'HITId,WorkerId,Answer.animal.labels\nh1,w1,"[""cat""]"\nh1,w2,"[""dog""]"\nh2,w1,"[""cat"",""dog""]"\n'
    assert read(tmp_path / "labels", several) == (TWO, {}, {"with two labels at once": 1})
    yes_or_no = "HITId,WorkerId,Answer.cat\nh1,w1,true\nh1,w2,false\n"
    assert read(tmp_path / "labels", yes_or_no)[0] == [("w1", "h1", "true"), ("w2", "h1", "false")]


def test_what_spreadsheets_write_into_empty_cells_is_no_label(tmp_path):
    text = "worker,task,label,gold\nann,t1,yes,N/A\nbob,t1,N/A,yes\ncy,t1,NA,\ndan,t1,null,\n"
    assert read(tmp_path / "labels", text) == ([("ann", "t1", "yes")], {"t1": "yes"}, {"without a label": 3})
    assert len(read(tmp_path / "labels", text, classes=["yes", "N/A"])[0]) == 2
    wide = "id,ann,bob\nt1,yes,no\nt2,no,N/A\n"
    assert read(tmp_path / "labels", wide)[0] == [("ann", "t1", "yes"), ("bob", "t1", "no"), ("ann", "t2", "no")]
    assert read(tmp_path / "labels", MTURK.replace('"cat"', '"N/A"'))[0][0] == ("w1", "h1", "N/A")  # a choice of a tool


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "shift_jis"])
def test_an_encoding_is_named(tmp_path, encoding):
    who = "山田" if encoding == "shift_jis" else "José"
    text = f"worker,task,label\n{who},t1,yes\nbob,t1,no\n".encode(encoding)
    expected = [(who, "t1", "yes"), ("bob", "t1", "no")]
    assert read(tmp_path / "labels", text, columns=ColumnNames(encoding=encoding))[0] == expected
    if encoding == "cp1252":
        for block in label_blocks(tmp_path / "labels", ["yes", "no"], columns=ColumnNames(encoding=encoding)):
            assert block.worker_names == ["José", "bob"]
        with pytest.raises(DataError, match="labels:2:1: got bytes that are not UTF-8; --encoding"):
            read_labels(tmp_path / "labels")
        with pytest.raises(DataError, match="got ASCII that cannot be read"):
            read_labels(tmp_path / "labels", columns=ColumnNames(encoding="ascii"))
        with pytest.raises(UsageError, match="--encoding: got 'cp12525'"):
            read_labels(tmp_path / "labels", columns=ColumnNames(encoding="cp12525"))


@pytest.mark.parametrize("name", ["label_studio.csv", "toloka.tsv", "mturk.csv", "wide.csv"])
def test_tables_are_read_in_a_stream_too(tmp_path, name):
    content, triples, gold, _ = EXPECTED[name]
    (tmp_path / "labels").write_text(content)
    found, truth = [], {}
    for labels in label_blocks(tmp_path / "labels", ["cat", "dog"], chunk_bytes=500):
        found += [(labels.worker_names[w], labels.item_names[i], labels.classes[c])
                  for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True)]  # fmt: skip
        truth |= {labels.item_names[i]: labels.classes[k] for i, k in enumerate(labels.gold.tolist()) if k >= 0}
    assert sorted(found) == sorted(triples)
    assert truth == gold


def test_an_archive_of_doccano_names_workers_by_file(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ann.jsonl", lines({"id": 1, "text": "one", "label": ["cat"]}))
        archive.writestr("bob.jsonl", lines({"id": 1, "text": "one", "label": ["dog"]}))
        archive.writestr("unknown.jsonl", "")
    triples, _, _ = read(tmp_path / "export.zip", packed.getvalue())
    assert triples == [("ann", "1", "cat"), ("bob", "1", "dog")]


def test_an_archive_of_inspect(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("header.json", json.dumps(INSPECT | {"samples": None}))
        for sample in INSPECT["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    triples, _, _ = read(tmp_path / "log.eval", packed.getvalue())
    assert sorted(triples) == sorted(EXPECTED["inspect.json"][1])


def zstandard_archive(files, claimed=None):
    """A ZIP file packed with Zstandard, which Python's module cannot write; `claimed` bytes are said to be in each."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, ZstdCompressor().compress(text.encode()))
        entries = archive.infolist()
    found = bytearray(packed.getvalue())
    at = found.index(b"PK\x01\x02")
    for entry in entries:
        size = claimed or len(files[entry.filename].encode())
        for place, method, length in ((entry.header_offset, 8, 22), (at, 10, 24)):
            struct.pack_into("<H", found, place + method, 93)
            struct.pack_into("<I", found, place + length, size)
        at = found.find(b"PK\x01\x02", at + 4)
    return bytes(found)


def test_an_archive_of_inspect_packed_with_zstandard(tmp_path):
    files = {f"samples/{sample['id']}_epoch_1.json": json.dumps(sample) for sample in INSPECT["samples"]}
    triples, _, _ = read(tmp_path / "log.eval", zstandard_archive(files))
    assert sorted(triples) == sorted(EXPECTED["inspect.json"][1])
    with pytest.raises(DataError, match="samples/.* is not as long as the archive says"):
        read(tmp_path / "bomb.eval", zstandard_archive({"samples/1.json": "[" + " " * 10_000_000}, claimed=5))


def test_minimal_json_of_label_studio_is_its_csv(tmp_path):
    rows = [{"id": 7, "text": "one", "mood": "cat", "annotator": 1, "annotation_id": 1, "lead_time": 2.0},
            {"id": 7, "text": "one", "mood": "dog", "annotator": 2, "annotation_id": 2, "lead_time": 2.0}]  # fmt: skip
    assert read(tmp_path / "labels", rows)[0] == [("1", "7", "cat"), ("2", "7", "dog")]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("label=second", [("1", "7", "x")]),
        ("label=first", [("1", "7", "a")]),
        ("label=frist", "no answers to 'frist'; did you mean 'first'"),
        (None, "got answers to 'first' and 'second', wanted one question: --columns label=first"),
    ],
)
def test_one_of_two_questions_is_named(tmp_path, columns, expected):
    result = [{"type": "choices", "from_name": "first", "value": {"choices": ["a"]}},
              {"type": "choices", "from_name": "second", "value": {"choices": ["x"]}}]  # fmt: skip
    export = [{"id": 7, "annotations": [{"completed_by": 1, "result": result}]}]
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            read(tmp_path / "labels", export, columns=columns)
    else:
        assert read(tmp_path / "labels", export, columns=columns)[0] == expected


@pytest.mark.parametrize("columns", ["task=id,label=ann,label=bob", "task=id,label=[ab]*"])
def test_columns_of_a_wide_table_are_named(tmp_path, columns):
    text = "cost,id,ann,bob,cy\n1,t1,yes,no,1\n"
    assert read(tmp_path / "labels", text, columns=columns)[0] == [("ann", "t1", "yes"), ("bob", "t1", "no")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"id": 1,\n]', r"labels:2:1: not JSON"),
        ('{"a": 1}\n{"a":\n', "labels:2:6: not JSON"),
        ('{"id": {}}', "got JSON of another kind, wanted an export of Label Studio, Prodigy"),
        (json.dumps([{"id": 1, "text": "x"}]), "no worker column|no task column"),
        (json.dumps([LABEL_STUDIO[0], {"id": 3, "annotations": None}]), "task 3: no annotations"),
        (json.dumps([LABEL_STUDIO[0], 5]), "record 2: got a JSON int, wanted an object"),
        (b"PK\x03\x04 broken", "an archive that cannot be read"),
        (b'[{"id": "\xff"}]', "not UTF-8"),
        ("[" * 100000, "nested too deeply|not JSON"),
        ('{"a":' * 100000, "labels: got JSON that is nested too deeply"),
        ('{"id": 1}\n{"id": "\\ud800"}', "labels:2: got half a surrogate pair"),
        ('{"id": 1}\n{"id": ' + "9" * 5000 + "}", "labels:2: got an integer of thousands of digits"),
        (LABEL_STUDIO_CSV.replace("mood", "one").replace('"dog","one"', '"dog","two"'), "cannot tell which column"),
        (TOLOKA.replace("HINT:text", "OUTPUT:why"), "'OUTPUT:result' and 'OUTPUT:why', wanted one label: --columns"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, text, words):
    path = tmp_path / "labels"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=words):
        read_labels(path)


def test_an_empty_export_has_no_labels(tmp_path):
    assert read(tmp_path / "labels", "[]") == ([], {}, {})


@pytest.mark.parametrize(
    ("name", "content", "label", "triples"),
    [
        ("log.json", INSPECT, "gpt", [("gpt", "s1", "C"), ("gpt", "2", "1")]),
        ("log.json", INSPECT, "a", [("claude", "2", "1")]),
        ("results.json", PROMPTFOO, "tone", [("human", "0:1", "fail"), ("tone", "0:1", "pass")]),
        ("results.json", PROMPTFOO, "llm*", [("llm-rubric: is polite", "0:1", "pass"), ("human", "0:1", "fail")]),
        ("run.json", DEEPEVAL, "T*", [("Tone (gpt)", "case_0", "pass"), ("Tone (claude)", "case_0", "fail")]),
    ],
)
def test_one_metric_of_an_evaluation(tmp_path, name, content, label, triples):
    assert read(tmp_path / name, content, columns=f"label={label}")[0] == triples


@pytest.mark.parametrize(("content", "known"), [(INSPECT, "claude"), (PROMPTFOO, "tone"), (DEEPEVAL, "Tone")])
def test_a_metric_that_is_not_there_is_refused_with_the_nearest(tmp_path, content, known):
    with pytest.raises(DataError, match=f"no labels of '{known}x'; did you mean '{known}'"):
        read(tmp_path / "log.json", content, columns=f"label={known}x")


def test_a_sample_of_inspect_that_failed_is_said(tmp_path):
    failed = {"id": 3, "epoch": 1, "scores": {}, "error": {"message": "no key"}}
    _, _, problems = read(tmp_path / "log.json", INSPECT | {"samples": [*INSPECT["samples"][:1], failed]})
    assert problems == {"of a sample that failed": 1}


@pytest.mark.parametrize(
    "odd",
    [
        "difficulty",
        "model_version",
        "Final label",
        "expert",
        "Model",
        "run",
        "reviewer_id",
        "reviewerID",
        "modelVersion",
    ],
)
def test_a_column_that_looks_like_no_person_is_asked_about(tmp_path, odd):
    table = f"id,ann,bob,{odd}\n" + "".join(f"{i},{i % 2},{i % 3 % 2},{i % 2}\n" for i in range(6))
    with pytest.raises(DataError, match=f"'{odd}' does not look like a worker: .*--columns label=ann,label=bob"):
        read(tmp_path / "wide.csv", table)
    triples, *_ = read(tmp_path / "wide.csv", table, columns="label=ann,label=bob")
    assert {worker for worker, *_ in triples} == {"ann", "bob"}


@pytest.mark.parametrize(
    "name", ["expert_1", "model_a", "gpt4-model", "run 2", "Reviewer 3", "David", "human", "llm", "R1"]
)
def test_a_column_that_may_be_a_person_is_one(tmp_path, name):
    table = f"id,ann,{name}\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(6))
    assert {worker for worker, *_ in read(tmp_path / "wide.csv", table)[0]} == {"ann", name}


@pytest.mark.parametrize(
    ("content", "columns", "words"),
    [
        (INSPECT, "worker=x", "the worker of Inspect cannot be named, got worker=x; --columns can name label"),
        (ARGILLA, "gold=x", "the gold of Argilla cannot be named.*can name task and label"),
        (LABEL_STUDIO, "task=x", "the task of Label Studio cannot be named"),
        (TOLOKA, "question=HINT:text", "the question of Toloka cannot be named"),
    ],
)
def test_a_role_that_a_tool_cannot_take_is_refused(tmp_path, content, columns, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path / "labels", content, columns=columns)


def test_questions_of_tools_are_kept_apart(tmp_path):
    two = {"mood": {"good": True}, "length": {"scale": "4"}}
    (tmp_path / "potato.jsonl").write_text(lines({"id": 1, "user_id": "ann", "label_annotations": two}))
    assert [*read_questions(tmp_path / "potato.jsonl")] == ["mood", "length"]
    assert [*read_questions(tmp_path / "potato.jsonl", columns="label=len*")] == [""]
    asked = "task=id,label=mood"
    assert read_labels(tmp_path / "potato.jsonl", columns=asked).classes == ["good"]
