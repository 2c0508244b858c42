"""Third-party plugins: loaded, selected, traced, and skipped when they are broken."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hutch.core.chain.model_file import check_plugins
from hutch.core.chain.registry import KINDS, Registry
from hutch.core.config.read import read_chain, validate
from hutch.core.errors import ConfigError, ModelError, PluginError
from hutch.plugins.defaults import DEFAULT_PLUGINS
from hutch.plugins.manager import Plugins
from tests.forked_hutch import hutch

GOOD = """
import hutch
from hutch.core.loss.losses import Loss

def value(prediction, label, parameter):
    return (prediction - label) ** 2

def derivative(prediction, label, parameter):
    return 2.0 * (prediction - label)

@hutch.hookimpl
def hutch_register_losses(register):
    register(Loss.plain("{name}", value, derivative))
"""
HEAD = "import hutch\n@hutch.hookimpl\n"

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a distribution of one module with one entry point, for this process and those it starts."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def install(name: str, source: str) -> None:
        (tmp_path / f"{name}_module.py").write_text(source)
        folder = tmp_path / f"{name}-1.5.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (folder / "entry_points.txt").write_text(f"[hutch]\n{name}_entry = {name}_module\n")

    yield install
    for name in [name for name in sys.modules if name.endswith("_module")]:
        del sys.modules[name]


def mine(plugins: Plugins) -> list[str]:
    """Names of the losses of the plugins installed here."""
    return [name for name in plugins.registry.losses if name.startswith("my_")]


def test_a_plugin_is_listed_with_what_it_has(install: Install) -> None:
    install("good", GOOD.format(name="my_good"))
    plugins = Plugins()
    assert mine(plugins) == ["my_good"]
    [found] = [plugin for plugin in plugins if plugin.distribution == "good"]
    assert (found.name, found.version, found.hooks) == ("good_entry", "1.5", ("hutch_register_losses",))
    assert found.file.endswith("good_module.py")
    assert plugins.versions()["good"] == "1.5"


def test_plugins_are_chosen_by_name(install: Install) -> None:
    install("one", GOOD.format(name="my_one"))
    install("two", GOOD.format(name="my_two"))
    assert sorted(mine(Plugins())) == ["my_one", "my_two"]
    assert mine(Plugins(only=["one"])) == ["my_one"]
    assert mine(Plugins(only=["two_entry"])) == ["my_two"]
    assert mine(Plugins(only=[])) == []
    assert mine(Plugins(block=["one"])) == ["my_two"]
    assert "linear" not in Plugins(block=["hutch.reductions.linear.layer"]).registry.reductions


BROKEN = {
    "import": (
        "import no_such_module",
        "plugin 'bad_entry' (bad 1.5) left out: ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "syntax": ("def f(:", "plugin 'bad_entry' (bad 1.5) left out: SyntaxError: invalid syntax"),
    "exit": ("raise SystemExit(3)", "plugin 'bad_entry' (bad 1.5) left out: SystemExit: 3"),
    "registration": (
        HEAD + "def hutch_register_losses(register):\n    raise RuntimeError('no\\nluck')",
        "plugin 'bad_entry' (bad 1.5) failed in hutch_register_losses(register): RuntimeError: no luck",
    ),
    "signature": (
        HEAD + "def hutch_register_losses(registry):\n    pass",
        "plugin 'bad_entry' (bad 1.5) left out: Plugin 'bad_entry' for hook 'hutch_register_losses' "
        "hookimpl definition: hutch_register_losses(registry) Argument(s) {'registry'} are declared in the hookimpl "
        "but can not be found in the hookspec",
    ),
    "hook": (
        HEAD + "def hutch_register_loses(register):\n    pass",
        "plugin 'bad_entry' (bad 1.5) left out: unknown hook 'hutch_register_loses' in plugin",
    ),
    "clash": (
        GOOD.format(name="hinge"),
        "plugin 'bad_entry' (bad 1.5) failed in hutch_register_losses(register): PluginError: loss 'hinge' is already "
        "registered by hutch.core.loss",
    ),
    "kind": (
        HEAD + "def hutch_register_losses(register):\n    register(3)",
        "plugin 'bad_entry' (bad 1.5) failed in hutch_register_losses(register): PluginError: loss '3': got 3, wanted "
        "a hutch.core.loss.losses.Loss",
    ),
    "progress": (
        HEAD + "def hutch_on_progress(happening):\n    pass",
        "plugin 'bad_entry' (bad 1.5) left out: Plugin 'bad_entry' for hook 'hutch_on_progress' hookimpl definition: "
        "hutch_on_progress(happening)",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_named_in_one_line(kind: str, install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    source, message = BROKEN[kind]
    install("bad", source)
    install("good", GOOD.format(name="my_good"))
    plugins = Plugins()
    assert mine(plugins) == ["my_good"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"hutch: {message}")
    assert {"hinge", "squared"} <= set(plugins.registry.losses)


def test_a_view_that_raises_is_named_and_not_asked_again(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("bad", HEAD + "def hutch_on_progress(event):\n    raise RuntimeError('full')")
    install("good", HEAD + "def hutch_on_progress(event):\n    print(f'saw {event}')")
    plugins = Plugins()
    plugins.on_progress("one")
    plugins.on_progress("two")
    printed = capsys.readouterr()
    assert printed.err == "hutch: plugin 'bad_entry' (bad 1.5) failed in hutch_on_progress(event): RuntimeError: full\n"
    assert printed.out == "saw one\nsaw two\n"


def test_a_distribution_that_is_there_twice_counts_once(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install("good", GOOD.format(name="my_good"))
    second = tmp_path / "elsewhere" / "Good-1.4.dist-info"
    second.mkdir(parents=True)
    (second / "METADATA").write_text("Metadata-Version: 2.1\nName: Good\nVersion: 1.4\n")
    (second / "entry_points.txt").write_text("[hutch]\ngood_entry = good_module\n")
    monkeypatch.syspath_prepend(second.parent)
    assert mine(Plugins()) == ["my_good"]
    assert capsys.readouterr().err == ""


def test_two_plugins_of_one_name_are_told_apart(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("one", GOOD.format(name="my_one"))
    install("two", GOOD.format(name="my_two"))
    for name in ("one", "two"):
        (tmp_path / f"{name}-1.5.dist-info" / "entry_points.txt").write_text(f"[hutch]\nsame = {name}_module\n")
    assert len(mine(Plugins())) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"hutch: plugin 'same' \((\w+) 1.5\) left out: (\w+) 1.5 has a plugin of that name", line)


def test_what_is_not_loaded_is_said_where_it_is_missed(install: Install) -> None:
    install("one", GOOD.format(name="my_one"))
    install("bad", "import no_such_module")
    for plugins, why in (
        (Plugins(only=["bad"]), "not named in HUTCH_LOAD_PLUGINS"),
        (Plugins(block=["one"]), "blocked under plugins: in the chain"),
    ):
        assert plugins.registry.left_out["one_entry (one 1.5)"] == why
        assert plugins.registry.left_out["bad_entry (bad 1.5)"].startswith("ModuleNotFoundError: No module named")
        with pytest.raises(ConfigError) as raised:
            validate(read_chain({"chain": [{"linear": {"loss": "my_one"}}]}), plugins.registry)
        assert "unknown loss 'my_one'; valid: classic, " in str(raised.value)
        assert "; left out: " in str(raised.value) and f"one_entry (one 1.5) ({why})" in str(raised.value)
        with pytest.raises(ModelError, match=r"the model needs the plugin one_entry \(one 1.5\), which is left out: "):
            check_plugins("model", {"one": "1.5"}, plugins.versions(), plugins.registry.left_out)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line with plugins of its own."""
    command = [hutch(), *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)


def test_the_environment_chooses_and_traces(install: Install) -> None:
    install("one", GOOD.format(name="my_one"))
    install("two", GOOD.format(name="my_two"))
    found = run("plugins", "list", HUTCH_LOAD_PLUGINS="two", HUTCH_TRACE_PLUGINS="1")
    assert found.returncode == 0, found.stderr
    assert "  losses: my_two\none_entry (one 1.5)\n  left out: " in found.stdout
    assert "hutch: hutch_register_losses(register=...) of two_entry" in found.stderr.splitlines()


def test_the_list_shows_what_failed(install: Install) -> None:
    install("half", HEAD + "def hutch_register_losses(register):\n    raise RuntimeError('no luck')")
    install("bad", "import no_such_module")
    install("one", GOOD.format(name="my_one"))
    found = run("plugins", "list", HUTCH_LOAD_PLUGINS="half,bad").stdout
    assert "half_entry (half 1.5)\n" in found
    assert "  failed in hutch_register_losses(register): RuntimeError: no luck\n" in found
    assert "bad_entry (bad 1.5)\n  left out: ModuleNotFoundError: No module named 'no_such_module'\n" in found
    assert "one_entry (one 1.5)\n  left out: not named in HUTCH_LOAD_PLUGINS\n" in found
    as_json = json.loads(run("plugins", "list", "--json", HUTCH_LOAD_PLUGINS="half,bad").stdout)
    assert set(as_json["left_out"]) == {"bad_entry (bad 1.5)", "one_entry (one 1.5)"}


def test_a_chain_blocks_plugins(install: Install, tmp_path: Path) -> None:
    install("one", GOOD.format(name="my_one"))
    (tmp_path / "chain.yaml").write_text("plugins: {block: [one]}\nchain:\n  - linear: {loss: my_one}\n")
    found = run("config", "check", str(tmp_path / "chain.yaml"))
    assert found.returncode == 2
    assert "chain.yaml:3:20: chain[0].linear.loss: unknown loss 'my_one'" in found.stderr


def test_what_comes_with_hutch_is_imported_when_it_is_asked_for() -> None:
    code = """
import sys
from hutch.plugins.manager import installed
reductions = installed(["ngrams", "ppca"]).registry.reductions
print("ngrams" in reductions, "ppca" in reductions)
print("dyadic" in reductions, "hutch.reductions.dyadic.layer" in sys.modules)
others = ("hutch.reductions.dyadic.layer", "hutch.reductions.active.layer")
print(reductions["dyadic"].name, *(name in sys.modules for name in others))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True", "False", "dyadic", "True", "False"]


def test_all_parts_of_hutch_come_through_the_door_and_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    plugins = Plugins(only=[])
    assert [f"{plugin.name}.plugin" for plugin in plugins] == list(DEFAULT_PLUGINS)
    for kind in KINDS:
        items = getattr(plugins.registry, kind)
        assert items, kind
        for name in items:
            assert items[name] is not None, (kind, name)
            assert getattr(items[name], "name", name) in (name, items[name].__class__.__name__), (kind, name)
    for command in plugins.registry.commands.values():
        assert callable(command.load()) or command.load() is not None
    assert not plugins.failures and capsys.readouterr().err == ""


def test_no_reduction_of_the_folder_is_forgotten() -> None:
    """Every final class with a name of its own in reductions/ is registered."""
    from hutch.core.chain.reduction import Reduction

    known = set(Plugins(only=[]).registry.reductions.values())
    waiting, found = [Reduction], set()
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found |= {each for each in below if each.__module__.startswith("hutch.reductions.") and "name" in vars(each)}
    assert found == known


PLACES = {
    "no_module:Nothing": "reduction 'bag' of somewhere: No module named 'no_module'",
    "math:Nothing": "reduction 'bag' of somewhere: module 'math' has no attribute 'Nothing'",
    "math:pi": "reduction 'bag': got 3.14",
    "hutch.reductions.binary:Binary": "which calls itself 'binary'",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_without_its_item_is_named_when_it_is_looked_up(place: str) -> None:
    registry = Registry()
    registry.add("reductions", "bag", place, "somewhere")
    assert "bag" in registry.reductions
    with pytest.raises(PluginError, match=re.escape(PLACES[place])):
        registry.reductions["bag"]


def test_a_place_is_module_and_name() -> None:
    with pytest.raises(PluginError, match="reader '.x': got the place 'module.Name', wanted module:Name"):
        Registry().add("readers", ".x", "module.Name", "somewhere")
