"""Plugins that do harm while they load, or fail while they are used: passed over, or named in one message."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hutch.plugins.third_party import failure, printable
from tests import forked_hutch

LAYER = '''
import hutch
from hutch.plugin import Kernels, Reduction, kernel, learn_next, predict_next

@kernel
def predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)

@kernel
def learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, importance, offset)

class Attack(Reduction):
    """Hands everything on."""
    name = "attack"

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        {init}

    @property
    def kernels(self):
        {kernels}
        return Kernels(learn, predict)

    @classmethod
    def width(cls, parameters):
        {width}
        return 1

    def saved(self):
        {saved}
        return {{}}

    def begin_batch(self, batch, learn):
        {begin_batch}

@hutch.hookimpl
def hutch_register_reductions(register):
    register(Attack)
'''
METHODS = ("init", "kernels", "width", "saved", "begin_batch")
NAMED = "plugin 'bad_entry' (bad 1.5)"


def install(folder: Path, source: str) -> dict[str, str]:
    """Install a plugin for processes with this environment."""
    (folder / "bad_module.py").write_text(source)
    info = folder / "bad-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[hutch]\nbad_entry = bad_module\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def hutch(folder: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "data.vw").write_text("1 |f a b\n-1 |f b c\n")
    command = [forked_hutch.hutch(), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


AT_IMPORT = {
    "prints": ("print('noise')", None),
    "exits": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "raises control characters": ("raise ValueError('\x1b[31m')", r"\x1b[31m"),
    "registers a name with control characters": (
        LAYER.format(**dict.fromkeys(METHODS, "pass")).replace('"attack"', '"a\\x1b b"'),
        r"got the name 'a\x1b b', wanted letters",
    ),
    "leaves out the name of a layer": (
        LAYER.format(**dict.fromkeys(METHODS, "pass")).replace('name = "attack"', "pass"),
        "no attribute 'name', wanted the key in YAML",
    ),
    "leaves out the type of a parameter": (
        "from hutch.plugin import Parameters\nclass P(Parameters):\n    rate = 1",
        "P.rate: a parameter needs a type, as in rate: int",
    ),
    "registers no crowd model": (
        "import hutch\n@hutch.hookimpl\ndef hutch_register_crowd_models(register):\n    register(object())",
        "wanted a subclass of hutch.crowd.models.model.CrowdModel",
    ),
}


@pytest.mark.parametrize("name", AT_IMPORT)
def test_a_plugin_that_does_harm_while_it_loads_ends_no_run(name: str, tmp_path: Path) -> None:
    source, said = AT_IMPORT[name]
    done = hutch(tmp_path, install(tmp_path, source), "plugins", "list", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["plugins"]
    assert "\x1b" not in done.stderr and "Traceback" not in done.stderr
    if said is None:
        assert done.stderr == "noise\n"
    else:
        assert "bad_entry" in done.stderr and said in done.stderr


@pytest.mark.parametrize("method", METHODS)
def test_a_layer_that_raises_is_named(method: str, tmp_path: Path) -> None:
    bodies = {**dict.fromkeys(METHODS, "pass"), method: "raise RuntimeError('boom')"}
    environment = install(tmp_path, LAYER.format(**bodies))
    (tmp_path / "chain.yaml").write_text("chain: [attack, linear]\n")
    done = hutch(tmp_path, environment, "train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet")
    place = {"init": "__init__"}.get(method, method)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "bad_module.py:" in done.stderr and f"{NAMED} failed in {place}: RuntimeError: boom" in done.stderr


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("width", "return 0", "width of the layer 'attack': got 0, wanted a number of sub-models of at least 1"),
        ("width", "return 'x'", "width of the layer 'attack': got 'x', wanted"),
        ("kernels", "return None", "kernels of the layer 'attack': got None, wanted hutch.plugin.Kernels"),
        ("saved", "return None", "saved of the layer 'attack': got None, wanted arrays by name"),
        ("saved", "return {'a': 'text'}", "saved['a'] of the layer 'attack': got 'text', wanted an array of numbers"),
        ("kernels", "return Kernels(kernel(lambda a, b, c, d, e: open('x')), predict)", "cannot be compiled for"),
        (
            "kernels",
            "return Kernels(learn, predict.function)",
            "kernels.predict of the layer 'attack': got <function predict",
        ),
        ("init", "del self.context", "wanted that as its first line"),
    ],
)
def test_a_layer_that_says_nonsense_of_itself_is_named(method: str, body: str, message: str, tmp_path: Path) -> None:
    environment = install(tmp_path, LAYER.format(**{**dict.fromkeys(METHODS, "pass"), method: body}))
    (tmp_path / "chain.yaml").write_text("chain: [attack, linear]\n")
    done = hutch(tmp_path, environment, "train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "bad_module" in done.stderr and message in done.stderr


IN_KERNELS = {
    "an unknown name": (
        "totl += 1.0",
        ":11: kernel 'predict' of bad_module cannot be compiled",
        "'totl' is not defined",
    ),
    "no such field": ("x = state(layer).randm", "kernel 'predict' of", "there is no field 'randm' in the record"),
}


@pytest.mark.parametrize("name", IN_KERNELS)
def test_what_is_wrong_in_a_kernel_is_said_with_its_line(name: str, tmp_path: Path) -> None:
    line, *wanted = IN_KERNELS[name]
    state = "import numpy as np\nfrom hutch.plugin import state_of\nstate = state_of(np.dtype([('random', 'u8')]))\n"
    source = LAYER.format(**dict.fromkeys(METHODS, "pass"))
    source = source.replace("@kernel\ndef predict", f"{state}\n@kernel\ndef predict").replace(
        "    return predict_next", f"    {line}\n    return predict_next"
    )
    environment = install(tmp_path, source)
    (tmp_path / "chain.yaml").write_text("chain: [attack, linear]\n")
    done = hutch(tmp_path, environment, "train", "data.vw", "-C", "chain.yaml", "--quiet")
    assert done.returncode == 1 and "Traceback" not in done.stderr and "\x1b" not in done.stderr
    assert all(each in done.stderr for each in wanted), done.stderr


@pytest.mark.slow
def test_checks_that_fail_alike_say_so_once(tmp_path: Path) -> None:
    environment = install(tmp_path, LAYER.format(**{**dict.fromkeys(METHODS, "pass"), "kernels": "return 7"}))
    done = hutch(tmp_path, environment, "plugins", "check", "attack")
    assert done.returncode == 1 and done.stdout.count("got 7, wanted hutch.plugin.Kernels") == 1
    assert done.stdout.count(": the same\n") > 20


def test_a_plugin_without_hooks_is_told_of_them(tmp_path: Path) -> None:
    environment = install(tmp_path, LAYER.format(**dict.fromkeys(METHODS, "pass")).replace("@hutch.hookimpl", ""))
    done = hutch(tmp_path, environment, "plugins", "check", "bad_entry")
    assert done.returncode == 1 and "it has no hooks, which are functions below @hookimpl" in done.stderr


def test_an_error_of_ours_is_nobody_elses() -> None:
    try:
        printable(None)  # type: ignore[arg-type]
    except AttributeError as error:
        assert failure(error, {"bad_module": NAMED}) is None
        assert failure(error, {"hutch": NAMED}).endswith("failed in printable: " + f"AttributeError: {error}")  # type: ignore[union-attr]


def test_a_kernel_that_raises_ends_the_run_with_its_line_and_leaves_the_model(tmp_path: Path) -> None:
    source = LAYER.format(**dict.fromkeys(METHODS, "pass")).replace(
        "    return learn_next",
        "    if label == 3:\n        raise ValueError('three is not mine')\n    return learn_next",
    )
    environment = install(tmp_path, source)
    (tmp_path / "chain.yaml").write_text("chain: [attack, linear]\n")
    words = ("train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet")
    assert hutch(tmp_path, environment, *words).returncode == 0
    before = (tmp_path / "model").read_bytes()
    (tmp_path / "more.vw").write_text("1 |f a\n3 |f b\n1 |f c\n")
    for more in (("train", "more.vw", *words[2:]), ("train", "more.vw", "-i", "model", "-f", "model", "--quiet")):
        done = hutch(tmp_path, environment, *more)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        line = source.splitlines().index("        raise ValueError('three is not mine')") + 1
        assert f"bad_module.py:{line}: kernel 'learn' raised ValueError: three is not mine" in done.stderr
        assert (tmp_path / "model").read_bytes() == before


def test_a_plugin_for_another_interface_is_left_out_by_name(tmp_path: Path) -> None:
    source = LAYER.format(**dict.fromkeys(METHODS, "pass"))
    environment = install(tmp_path, f"{source}\nhutch_api = 2\n")
    done = hutch(tmp_path, environment, "plugins", "list", "--json")
    why = "it is made for hutch_api 2, and this version of Hutch has 1: upgrade one of them"
    assert json.loads(done.stdout)["left_out"] == {"bad_entry (bad 1.5)": why}
    assert done.stderr == f"hutch: {NAMED} left out: {why}\n"
    (tmp_path / "chain.yaml").write_text("chain: [attack, linear]\n")
    done = hutch(tmp_path, environment, "train", "data.vw", "-C", "chain.yaml", "--quiet")
    assert done.returncode == 2 and why in done.stderr
    (tmp_path / "bad_module.py").write_text(f"{source}\nhutch_api = 1  # as this Hutch has\n")
    assert hutch(tmp_path, environment, "train", "data.vw", "-C", "chain.yaml", "--quiet").returncode == 0


@pytest.mark.slow
def test_a_slow_import_is_named_by_the_check(tmp_path: Path) -> None:
    source = LAYER.format(**dict.fromkeys(METHODS, "pass"))
    slow = "import time\nbegun = time.process_time()\nwhile time.process_time() < begun + 0.4:\n    pass\n"
    for wait, wanted in (("", "passed bad_entry:loads_fast"), (slow, "failed bad_entry:")):
        folder = tmp_path / str(len(wait))
        folder.mkdir()
        done = hutch(folder, install(folder, f"{wait}{source}"), "plugins", "check", "bad")
        [found] = [line for line in done.stdout.splitlines() if "loads_fast" in line]
        assert found.startswith(wanted)
        if wait:
            assert "wanted 0.3 s: import what is slow in the function that needs it" in found
