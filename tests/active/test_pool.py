"""Pools of files, read in bounded memory, and draws from them that are those of a list of lines."""

import gc
import io
import json
import sys
import tracemalloc
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from hutch.active import drawing, pool
from hutch.active.drawing import Scores
from hutch.active.lines import unlabelled
from hutch.active.loop import ask
from hutch.active.pool import Pool
from hutch.chain import Chain
from hutch.core.errors import DataError, UsageError
from hutch.durable.entries import Round
from hutch.durable.records import Request
from hutch.durable.store import Store
from hutch.jobs.engine import Here
from hutch.sampling import draws


@pytest.fixture
def in_small_pieces(monkeypatch):
    """Many chunks and blocks where there would be one."""
    monkeypatch.setattr(drawing, "BLOCK", 64)
    monkeypatch.setattr(draws, "ROWS", 100)
    monkeypatch.setattr(pool, "Chunks", partial(pool.Chunks, chunk_bytes=1 << 12))


def asked(chain, source, path, count=40, rounds=1, **options):
    """Run rounds of requests; return the requests, the store's rounds and the documents."""
    with Store(path, create=True) as store:
        found = [ask(chain, source, store, count, source="p", model="m", **options) for _ in range(rounds)]
        return found, store.rounds(), [store.document(request.id) for part in found for request in part]


@pytest.mark.parametrize("rule", ["budget", "margin", "random"])
def test_files_a_list_and_tasks_ask_for_the_same(lines, trained, tmp_path, rule, in_small_pieces):
    chain, texts = trained({"rule": rule}), lines(700, 4)
    texts[5] = texts[600] = texts[650] = texts[4]  # lines that come again
    for k in range(3):
        (tmp_path / f"part{k}.vw").write_text("\n\n".join(texts[k * 250 : k * 250 + 250]) + "\n" * (k != 1))
    files = Pool.of_files(str(tmp_path / "part*.vw"), chain)
    want = asked(chain, texts, tmp_path / "list.db", rounds=3)
    assert [len(part) for part in want[0]] == [40, 40, 40]
    assert asked(chain, iter(texts), tmp_path / "iterator.db")[0] == want[0][:1]
    assert asked(chain, files, tmp_path / "files.db", rounds=3) == want
    assert asked(chain, files, tmp_path / "tasks.db", rounds=3, engine=Here()) == want
    everything, _, _ = asked(chain, files, tmp_path / "all.db", 9999, 2)
    assert len(everything[0]) == 700 and everything[1] == []
    same = {request.id.partition("#")[2] for request in everything[0] if request.line == unlabelled(texts[4])}
    assert same == {"", "2", "3", "4"}
    predictions = chain.predict([request.line for request in everything[0]])
    assert [request.prediction for request in everything[0]] == predictions.tolist()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_tables_are_pools_with_documents(tmp_path, ending, in_small_pieces):
    rows = [{"id": f"d{i}", "stars": i % 5, "note": f"word{i} is it\nand é {'x' * (i % 90)} so on"} for i in range(300)]
    for k in range(2):
        path, part = tmp_path / f"part{k}{ending}", rows[k * 150 : k * 150 + 150]
        if ending == ".parquet":
            pa = pytest.importorskip("pyarrow")
            import pyarrow.parquet

            pyarrow.parquet.write_table(pa.Table.from_pylist(part), path)
        elif ending == ".jsonl":
            path.write_text("\n".join(map(json.dumps, part)))
        else:
            quoted = [",".join(f'"{row[name]}"' for name in row) for row in part]
            text = "\ufeffid,stars,note\n" + "\n".join(quoted)
            path.write_text(text.replace('","', '"\t"').replace(",stars,", "\tstars\t") if ending == ".tsv" else text)
    config = {"chain": ["active", "linear"], "input": {"columns": {"tag": "id", "text": ["note"]}}}
    chain = Chain.from_config(config)
    [found], _, documents = asked(chain, Pool.of_files(str(tmp_path / f"part*{ending}"), chain), tmp_path / "s.db", 290)
    assert len(found) == 290
    for request, document in zip(found, documents, strict=True):
        row = rows[int(request.id[1:])]
        assert document["note"] == row["note"] and str(document["stars"]) == str(row["stars"])
        assert request.line.startswith(f"'{request.id}| stars:{row['stars']} |note word{request.id[1:]} is it and é")


def test_rows_of_separators_alone_are_no_examples(tmp_path):
    (tmp_path / "pool.csv").write_text("id,note\na,good\n, \nb,bad\n,\n,\n")
    chain = Chain.from_config({"chain": ["active", "linear"], "input": {"columns": {"tag": "id", "text": ["note"]}}})
    pool = Pool.of_files(str(tmp_path / "pool.csv"), chain)
    assert [(entry.number, entry.line) for source in pool.sources for entry in source] == [
        (1, "'a|note good"), (3, "'b|note bad")
    ]  # fmt: skip


def test_memory_grows_with_the_scores_of_a_pool_and_not_with_its_lines(trained, tmp_path, in_small_pieces):
    chain, peaks = trained(), []
    for n in (500, 3500):
        path = tmp_path / f"{n}.vw"
        path.write_text("".join(f"|f w{i % 30} w{i * 7 % 30} x{i} {'long ' * 100}\n" for i in range(n)))
        with Store(tmp_path / f"{n}.db", create=True) as store:
            ask(chain, Pool.of_files(str(path), chain), store, 50, source="p", model="m")
            gc.collect()
            tracemalloc.start()
            assert len(ask(chain, Pool.of_files(str(path), chain), store, 50, source="p", model="m")) == 50
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + 300_000  # 100 bytes for each of the other 3,000 lines, which have 500


def test_standard_input_is_a_pool(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1 'a|f w1\n\xff|f w2")))
    chain = trained()
    [found], _, _ = asked(chain, Pool.of_files("-", chain), tmp_path / "s.db")
    assert [(request.id, request.line) for request in found] == [("a", "'a|f w1"), ("�", "'�|f w2")]


def test_ids_that_look_like_those_of_lines_that_come_again(trained, tmp_path):
    chain, texts = trained(), ["'a|f w1", "'a|f w1", "'b#2|f w3"]
    with Store(tmp_path / "s.db", create=True) as store:
        first = ask(chain, texts[1:], store, 9, source="p", model="m")
        assert [request.id for request in first] == ["a", "b#2"]
        assert [request.id for request in ask(chain, texts, store, 9, source="p", model="m")] == ["a#2"]
        assert ask(chain, texts, store, 9, source="p", model="m") == []
        with pytest.raises(DataError, match="p:3:1: tag 'a' is the id of another line"):
            ask(chain, ["|f w8", "", "'a|f w9"], store, 9, source="p", model="m")


def test_what_changes_while_it_is_read_is_refused(trained, tmp_path):
    chain, path = trained(), tmp_path / "pool.vw"
    path.write_text("".join(f"|f w{i}\n" for i in range(20)))
    for text in ("|f other\n" * 20, "|f w0\n"):
        scores = Scores(Pool.of_files(str(path), chain), chain)
        before = path.read_text()
        path.write_text(text)
        with pytest.raises(DataError, match="pool.vw: changed while it was read"):
            list(scores.named(np.unique(scores.key)))
        path.write_text(before)


def test_nothing_and_files_of_another_kind(trained, tmp_path):
    chain = trained()
    (tmp_path / "empty.vw").write_text("\n\n")
    assert asked(chain, Pool.of_files(str(tmp_path / "empty.vw"), chain), tmp_path / "s.db")[0] == [[]]
    assert asked(chain, Pool.of_files(str(tmp_path / "empty.vw"), chain), tmp_path / "t.db", engine=Here())[0] == [[]]
    (tmp_path / "x.svm").write_text("1 1:2")
    with pytest.raises(UsageError, match=r"x.svm: got a file of .svm, wanted lines"):
        Pool.of_files(str(tmp_path / "x.svm"), chain)
    with pytest.raises(DataError, match="matches no file"):
        Pool.of_files(str(tmp_path / "*.none"), chain)


def test_the_second_of_two_equal_lines_was_asked_for_and_the_first_was_not(trained, tmp_path):
    chain, texts = trained(), ["'a|f w1", "'a|f w1"]
    with Store(tmp_path / "s.db", create=True) as store:
        store.ask([Request("a#2", "'a|f w1", 0.1, 1.0, 1.0, "m")], Round("p", 2, 1.0, 0.0))
        assert [request.id for request in ask(chain, texts, store, 9, source="p", model="m")] == ["a"]
