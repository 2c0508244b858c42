"""A damaged label store ends every command with one message that names it."""

import random
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from hutch.active.loop import ask
from hutch.cli.commands import app
from hutch.durable.checksums import add_functions
from hutch.durable.damage import damage_of
from hutch.durable.records import make_answer
from hutch.durable.store import Store

COMMANDS = [
    ["report"],
    ["requests"],
    ["log"],
    ["answer", "answers.jsonl"],
    ["learn", "-i", "model", "-f", "learned"],
    ["ask", "pool.vw", "-i", "model", "-n", "3"],
    ["export"],
    ["export", "--format", "crowd"],
]


@pytest.fixture
def folder(tmp_path, monkeypatch, trained, lines):
    monkeypatch.chdir(tmp_path)
    chain, pool = trained(), [line.split(" ", 1)[1] for line in lines(30, 2)]
    chain.save("model")
    (tmp_path / "pool.vw").write_text("\n".join(pool) + "\n")
    with Store("labels.db", create=True) as store:
        requests = ask(chain, pool, store, 8, source="pool.vw", model="m", documents=[{"text": "x"}] * 30)
        store.answer([make_answer(request.id, "ada", 1) for request in requests[:4]])
    (tmp_path / "answers.jsonl").write_text(f'{{"id": "{requests[5].id}", "worker": "bob", "label": -1}}\n')
    with closing(sqlite3.connect("labels.db")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return tmp_path


def ends_well(arguments):
    """Whether a command succeeds; if not, it must say why in one line."""
    result = CliRunner().invoke(app, ["active", *arguments, "--store", "labels.db"])
    assert result.exception is None or isinstance(result.exception, SystemExit), (arguments, result.exception)
    assert result.exit_code in (0, 1, 2)
    if result.exit_code:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.exit_code == 0


def changed(statement):
    def damage(path):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP TRIGGER audit_never_changes")
            connection.execute("DROP TRIGGER audit_never_shrinks")
            connection.execute(statement)
            connection.commit()

    return damage


def test_a_sound_store_is_not_damaged(folder):
    assert all(map(ends_well, COMMANDS))
    with closing(sqlite3.connect("labels.db")) as connection:
        add_functions(connection)
        assert damage_of(connection) == ""


@pytest.mark.parametrize(
    ("damage", "fails"),
    [
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:5000]), len(COMMANDS), id="cut"),
        pytest.param(lambda path: path.write_bytes(b"worker,task,label\n" * 99), len(COMMANDS), id="text"),
        pytest.param(
            lambda path: path.write_bytes(path.read_bytes()[:8192] + random.Random(3).randbytes(90_000)), 4, id="noise"
        ),
        *(
            pytest.param(
                changed(f"{verb} {table}"), fails, id=f"{verb} {table}", marks=[pytest.mark.slow] * (table != "labels")
            )
            for verb, fails in (("DROP TABLE", 1), ("DELETE FROM", 1))
            for table in ("store", "rounds", "requests", "labels", "audit", "documents")
            if (verb, table) not in {("DELETE FROM", "labels"), ("DELETE FROM", "audit"), ("DELETE FROM", "documents")}
        ),
        pytest.param(changed("UPDATE requests SET line = '|f other'"), 4, id="another line"),
        pytest.param(changed("UPDATE requests SET importance = 2.0 * importance"), 5, id="another importance"),
        pytest.param(changed("UPDATE audit SET detail = replace(detail, '\"1\"', '\"-1\"')"), 2, id="another answer"),
        pytest.param(changed("UPDATE labels SET label = '-1'"), 3, id="another label"),
        pytest.param(changed("UPDATE audit SET detail = '{\"id'"), 2, id="log"),
        pytest.param(changed("UPDATE audit SET detail = '[]' WHERE event = 'answer'"), 2, id="answers in the log"),
        pytest.param(changed("UPDATE documents SET document = '{'"), 2, id="document"),
        pytest.param(changed("UPDATE store SET value = '[' WHERE key = 'labels'"), 1, id="labels allowed"),
        pytest.param(changed("UPDATE labels SET label = 'q'"), 1, id="label"),
    ],
)
def test_a_damaged_store_is_told_in_one_line(folder, damage, fails):
    damage(folder / "labels.db")
    content = (folder / "labels.db").read_bytes()
    ended = []
    for arguments in COMMANDS:
        (folder / "labels.db").write_bytes(content)
        for more in ("-wal", "-shm"):
            (folder / f"labels.db{more}").unlink(missing_ok=True)
        ended.append(ends_well(arguments))
    assert ended.count(False) >= fails


@pytest.mark.parametrize("size", [1, 99, 511, 512, 513])
def test_a_short_text_is_no_empty_store(folder, size):
    (folder / "labels.db").write_text("x" * size)
    assert not any(map(ends_well, COMMANDS))
    assert (folder / "labels.db").read_text() == "x" * size


def test_flipped_bits_never_end_in_a_traceback(folder):
    content, flips = (folder / "labels.db").read_bytes(), random.Random(5)
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(flips.choice([1, 4, 16])):
            damaged[flips.randrange(len(damaged))] ^= 1 << flips.randrange(8)
        for more in ("-wal", "-shm"):
            (folder / f"labels.db{more}").unlink(missing_ok=True)
        (folder / "labels.db").write_bytes(damaged)
        ends_well(flips.choice(COMMANDS))
