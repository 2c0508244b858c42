"""Chains that were checked before: the same as a fresh check gives, and checked again when anything changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.chain.registry import Registry
from hutch.core.config import cache as config_cache
from hutch.core.config import check as config_check
from hutch.core.config.read import load_chain, read_chain
from hutch.core.kernel.cache import _reached
from hutch.plugins.manager import installed

PROGRAM = """
import json, sys
from hutch.core.config.read import load_chain
from hutch.plugins.manager import installed
config = load_chain(json.loads(sys.argv[1]), installed().registry)
asked = "pydantic" in sys.modules
written = [config.to_dict(), config.to_dict(defaults=False)]
print(json.dumps([asked, written, repr(config)]))
"""
LAYERS = [
    "linear",
    {"linear": {"loss": {"quantile": {"tau": 0.9}}, "interactions": [["a", "b"], ["a", "b", ":"]], "initial_t": 1e-3}},
]
CHAINS = [{"chain": [layer]} for layer in LAYERS]
CHAINS.append(
    {
        "chain": [{"one_against_all": {"classes": 5, "first_class": "detect"}}, "link", {"linear": {"loss": "hinge"}}],
        "weights": {"bits": 20},
        "input": {"namespaces": "letter", "ignore": ["a"], "columns": {"label": "y", "namespaces": {"u": ["a", 3]}}},
        "seed": 3,
    }
)
CHAINS.append({"chain": ["binary", "linear"]})
CHAINS += [
    {"chain": [layer, "linear"]}
    for layer in (
        {"active": {"rule": "margin", "budget": 20, "horizon": 100, "labels": [0, 1]}},
        {"crowd_em": {"classes": 2, "powers": [0, 1]}},
        {"filter_tree": {"classes": 3, "shape": [[1, 2], 3]}},
        {"low_rank_quadratic": {"pairs": [{"namespaces": ["a", "b"], "rank": 2}]}},
        {"merge_namespaces": {"names": {"a": "b"}}},
        {"nat_oem": {"mode": "step", "beta": 2}},
        {"ngrams": {"namespaces": ["a"]}},
        {"ppca": {"namespace": "a", "dimension": 8, "exponent": 1}},
    )
]
CHAINS.append({"chain": [{"dyadic": {"left": "a", "right": "b", "dyads": [["c", "d"]], "loss": "hinge"}}]})
CHAINS += [
    {"chain": [{name: {"classes": 3}}, "linear"]}
    for name in ("error_correcting_tournament", "cost_sensitive_one_against_all")
]


def checked(cache: Path, chain: object) -> tuple[bool, object]:
    """Check a chain in a process of its own; whether pydantic was asked, and what came of it."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(chain)]
    environment = {**os.environ, "HUTCH_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    asked, *found = json.loads(done.stdout)
    return asked, found


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_that_was_checked_is_what_the_check_gave(tmp_path: Path, chain: object) -> None:
    asked, first = checked(tmp_path, chain)
    again, second = checked(tmp_path, chain)
    assert asked and not again and first == second


def test_commands_that_have_pydantic_in_memory_skip_the_check_too(tmp_path: Path) -> None:
    program = "import pydantic\n" + PROGRAM.replace('"pydantic" in', '"hutch.core.config.check" in')
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", program, json.dumps(CHAINS[0])]
        environment = {**os.environ, "HUTCH_CACHE_DIR": str(tmp_path)}
        found.append(json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout))
    assert (found[0][0], found[1][0]) == (True, False) and found[0][1:] == found[1][1:]


def test_another_chain_is_checked(tmp_path: Path) -> None:
    for bits in (10, 11, "10"):
        command = [sys.executable, "-c", PROGRAM, json.dumps({"chain": ["linear"], "weights": {"bits": bits}})]
        environment = {**os.environ, "HUTCH_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == (bits == "10")
    assert "weights.bits: got '10', wanted an integer" in done.stderr
    assert len(list((tmp_path / "chains").iterdir())) == 2


def test_a_damaged_file_is_made_anew_and_a_missing_directory_is_no_error(tmp_path: Path) -> None:
    found = checked(tmp_path, CHAINS[0])[1]
    [file] = (tmp_path / "chains").iterdir()
    for damaged in (b"", file.read_bytes()[:-1], b"\n"):
        file.write_bytes(damaged)
        assert checked(tmp_path, CHAINS[0]) == (True, found)
        assert checked(tmp_path, CHAINS[0]) == (False, found)
    (tmp_path / "file").write_text("")
    assert checked(tmp_path / "file" / "cache", CHAINS[0]) == (True, found)


def test_sources_and_versions_are_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    document, registry = read_chain(CHAINS[0]), installed().registry
    places = {config_cache.place(document, registry)}
    with monkeypatch.context() as patch:
        patch.setattr(config_cache, "version_source", lambda *_: "other")
        places.add(config_cache.place(document, registry))
    plain = config_cache.source_digest
    for changed in ("config/check.py", "linear/layer.py"):

        def other(path: str, changed: str = changed) -> str:
            return "0" if path.endswith(changed) else plain(path)

        with monkeypatch.context() as patch:
            patch.setattr(config_cache, "source_digest", other)
            places.add(config_cache.place(document, registry))
    assert len(places) == 4 and None not in places


def test_all_that_has_a_part_in_the_check_is_among_the_sources() -> None:
    reached = {Path(path).name for path in _reached(os.path.realpath(config_check.__file__))}
    assert {"sections.py", "chain_config.py", "losses.py", "roles.py", "registry.py", "parameters.py"} <= reached


def test_what_is_not_known_to_be_the_same_again_is_not_kept() -> None:
    document, registry = read_chain(CHAINS[0]), Registry()
    assert config_cache.place(document, registry) is None  # no such layer: the check says so
    registry.add("reductions", "linear", installed().registry.reductions["linear"], "stranger")
    assert config_cache.place(document, registry) is None
    registry.origins["reductions", "linear"] = "hutch.reductions.linear.layer"
    assert config_cache.place(document, registry) is not None
    registry.add("losses", "squared", installed().registry.losses["squared"], "stranger")
    assert config_cache.place(document, registry) is None
    assert config_cache.place(read_chain({"chain": []}), installed().registry) is None
    assert config_cache.place(read_chain({"chain": ["linear"], "seed": lambda: 0}), installed().registry) is None


def test_the_oldest_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_cache, "_KEPT", 3)
    for k in range(5):
        file = tmp_path / "chains" / str(k)
        config_cache.save(file, load_chain(CHAINS[0], installed().registry))
        os.utime(file, (k, k))
    assert sorted(path.name for path in (tmp_path / "chains").iterdir()) == ["2", "3", "4"]
