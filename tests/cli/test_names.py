"""Commands and options that programs of other people call: they stay, or are announced in the changelog first."""

from collections.abc import Callable
from typing import Any

import pytest

NAMES = {
    "demo": "--to --quick --json",
    "train": "-C --set -i -f -p -r --passes -P --quiet --cache --shards --ray --json",
    "predict": "-i -p -r --shards --ray --json",
    "active simulate": "-C --test --budget --json",
    "active ask": "-i --store -n",
    "active answer": "--store",
    "active learn": "-i -f --store",
    "active serve": "--store",
    "active report": "--store",
    "active run": "-C --store",
    "crowd": "--method --model --gold --next -p --workers -i -f --json --reference --ordered --pairs --suspects "
    "--columns --shards --ray --all-judges",
    "em fit": "--model --rank --regularizer --mode --form --beta -f --json --shards --ray",
    "reproduce": "dyadic crowd priors nat-oem",
    "reproduce nat-oem": "--plots --json",
    "config": "check show schema",
    "inspect": "--readable --invert-hash --explain",
    "plugins": "list check",
    "warmup": "--json",
    "estimate": "--of --reference --store --anytime --plan --json",
    "evaluate": "-C --json",
    "serve": "--host --port --vw-port --store --save-every --keep --token",
    "serve log": "export replay compact",
    "label-studio": "serve push pull",
    "convert": "-f --to",
    "label": "--who --target --store --votes --json",
    "label simulate": "--json",
}


@pytest.mark.parametrize(("command", "names"), NAMES.items(), ids=list(NAMES))
def test_names_stay(command: str, names: str, hutch: Callable[..., Any]) -> None:
    said = hutch(*command.split(), "--help")
    words = said.out.replace(",", " ").split()
    assert said.code == 0 and not [name for name in names.split() if name not in words]
