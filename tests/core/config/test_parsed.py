"""Documents that were parsed before: the same as the parser gives, from the same text only."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.config import parsed
from hutch.core.config import yaml as config_yaml

ROOT = Path(__file__).parents[3]
TEXTS = [path.read_text() for path in sorted((ROOT / "configs").glob("*.yaml"))]
TEXTS += [
    "",
    "chain: [linear, {dyadic: {rank: 3}}]\nnothing: [[], {}, ~, null]\n",
    "a: [1, -0.0, 1e-300, 1e400, .nan, -.inf, 0x1F, 12345678901234567890123, 010, '1', no, true, 2001-01-01]",
    'a: ["\\x85\\u2028 ü\\t", "\U0001f600"]\n"b c": |\n  two\n  lines\n0: 1\n',
]
PROGRAM = """
import json, sys
from hutch.core.config.read import read_chain
document = read_chain(sys.argv[1])
print(json.dumps(["yaml" in sys.modules, repr(document)]))
"""


@pytest.mark.parametrize("text", TEXTS)
def test_a_document_that_was_kept_is_what_was_parsed(text: str) -> None:
    try:
        document = config_yaml.read(text, "chain.yaml")
    except config_yaml.ConfigError:
        assert text.endswith("0: 1\n")
        document = config_yaml.read(text.replace("0: 1", "zero: 1"), "chain.yaml")
    again = parsed.document_of(parsed.written(document), "chain.yaml")
    assert repr(again) == repr(document)  # NaN is not equal to itself
    assert repr(parsed.document_of(parsed.written(document), "other").name) == "'other'"


def read_in_a_process(cache: Path, source: str) -> tuple[bool, str]:
    """Whether the parser was imported, and the document."""
    command = [sys.executable, "-c", PROGRAM, source]
    environment = {**os.environ, "HUTCH_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported, document = json.loads(done.stdout)
    return imported, document


def test_the_parser_is_not_imported_for_what_it_read_before(tmp_path: Path) -> None:
    chain, cache = tmp_path / "chain.yaml", tmp_path / "cache"
    chain.write_text("chain:\n- linear: {l2: 1e-3}\n")
    first = read_in_a_process(cache, str(chain))
    again = read_in_a_process(cache, str(chain))
    assert first[0] and not again[0] and first[1] == again[1]
    [file] = (cache / "documents").iterdir()
    file.write_bytes(file.read_bytes()[:-1])  # damaged
    assert read_in_a_process(cache, str(chain)) == first
    chain.write_text("chain:\n- linear: {l2: 1e-4}\n")
    assert read_in_a_process(cache, str(chain))[0]


def test_sources_and_versions_are_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {parsed._place("a: 1"), parsed._place("a: 2")}
    for name in ("version_source", "source_digest"):
        with monkeypatch.context() as patch:
            patch.setattr(parsed, name, lambda *_: "other")
            places.add(parsed._place("a: 1"))
    assert len(places) == 4 and None not in places
