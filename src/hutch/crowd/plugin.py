"""The crowd models that come with Hutch, their checks, and the command."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch crowd`."""
    register(
        "crowd",
        "hutch.crowd.cli.crowd:crowd",
        help="Labels by several workers: what is true, and who is good?",
        group="Labels",
    )


@hookimpl
def hutch_register_crowd_models(register: Callable[..., None]) -> None:
    """Register each model by its place."""
    register("hutch.crowd.models.two_level:TwoLevel", name="two_level")
    register("hutch.crowd.models.dawid_skene:DawidSkene", name="dawid_skene")
    register("hutch.crowd.models.ordinal:Ordinal", name="ordinal")
    register("hutch.crowd.models.one_coin:OneCoin", name="one_coin")
    register("hutch.crowd.models.many_classes:ManyClasses", name="many_classes")
    register("hutch.crowd.models.nominal:Nominal", name="nominal")
    register("hutch.crowd.mixed.model:Mixed", name="mixed")
    register("hutch.crowd.models.numbers:Numbers", name="numbers")


@hookimpl
def hutch_register_checks(register: Callable[..., None]) -> None:
    """Register what the checks of a crowd model run."""
    register("crowd_models", "hutch.crowd.checks:runs_of_model")


@hookimpl
def hutch_register_inspectors(register: Callable[..., None]) -> None:
    """Register what `hutch inspect` adds about a crowd."""
    register("crowd", "hutch.crowd.inspecting:usual_worker")


@hookimpl
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register the command with labels of tasks, in batch and online, and with votes on pairs."""
    answers = ((w, t, "ab"[(t + (w // 2 * t % 5 == 4)) % 2]) for t in range(40) for w in range(1, 5))
    labels = "".join(f"w{worker}\tt{task}\t{label}\n" for worker, task, label in answers)
    files = {"labels.tsv": labels, "gold.tsv": "t1\ta\n"}
    register("crowd labels.tsv --quiet --next 1 -p out --workers out.tsv --gold gold.tsv", files=files)
    register("crowd labels.tsv --quiet --report report.txt --suspects out.tsv", files=files)
    register("crowd labels.tsv --quiet --model many_classes", files=files)
    register("crowd labels.tsv --quiet --method online -p out --workers out.tsv", files=files)
    votes = "worker,left,right,winner\nv,a,b,a\nw,b,c,b\nv,c,a,a\nw,a,c,tie\n"
    register("crowd votes.csv --quiet --pairs", files={"votes.csv": votes})
