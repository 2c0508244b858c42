"""`hutch label-studio`: Label Studio as the page on which people answer label requests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from hutch.active.cli.page import StoreFile, columns_of, label_names, open_document
from hutch.core.errors import UsageError, counted
from hutch.core.strict_json import dumps
from hutch.shell.declared import Group, Option

app = Group("Let people answer label requests in Label Studio.")

Url = Annotated[
    str, Option(envvar="LABEL_STUDIO_URL", metavar="URL", help="Label Studio, such as http://localhost:8080.")
]
Key = Annotated[str, Option("--api-key", envvar="LABEL_STUDIO_API_KEY", metavar="TEXT", help="Access token of a user.")]
Names = Annotated[
    list[str] | None, Option("--name", metavar="LABEL=CHOICE", help="The choice for a label: 1=spam. Repeatable.")
]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]


@app.command()
def serve(
    model: Annotated[Path, Option("-i", "--initial-model", metavar="MODEL", help="The model, with `active` on top.")],
    store: StoreFile,
    final: Annotated[
        Path | None, Option("-f", "--final-model", metavar="MODEL", help="Write the model here.", show_default="MODEL")
    ] = None,
    host: Annotated[str, Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, metavar="N", help="Port; 0: any free one.")] = 9090,
    every: Annotated[int, Option(min=1, metavar="N", help="Learn after every N answers.")] = 10,
    name: Names = None,
) -> None:
    """Serve a machine-learning backend for Label Studio.

    It pre-labels tasks, scores them so that uncertainty sampling shows the most useful ones first, and learns from
    annotations. Enter the printed address in the project's settings.

    Example: hutch label-studio serve -i model --store labels.db --name 1=spam --name -1=ham
    """
    import shutil

    from hutch.active.label_studio.backend import LIMITS, Backend, create_app
    from hutch.active.loop import labels_of
    from hutch.chain import Chain
    from hutch.core.atomic import check_writable
    from hutch.durable.store import Store
    from hutch.net import web

    web.require_web("the backend")
    check_writable(final or model)
    with Store(store, create=True) as opened:
        chain = Chain.load(model)
        opened.allow_labels(labels_of(chain))
        if final and final != model:
            shutil.copyfile(model, final)
        backend = Backend(chain, final or model, opened, label_names(name or [], opened.labels_allowed), every)
        app = create_app(backend, opened.token)
        with web.listen(host, port) as listening:
            shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
            address = f"http://{shown}:{listening.getsockname()[1]}/{opened.token}"
            text = f"{address}\nanyone with this address can answer; ctrl-c ends"
            web.run_app(app, listening, lambda: print(text, flush=True), LIMITS)


@app.command()
def push(
    store: StoreFile,
    url: Url,
    api_key: Key,
    project: Annotated[int | None, Option(metavar="N", help="Number of the project.")] = None,
    create: Annotated[str | None, Option(metavar="TITLE", help="Create a project with this title first.")] = None,
    show: Annotated[
        str | None, Option(metavar="A,B,...", help="With --create: fields to show.", show_default="all")
    ] = None,
    name: Names = None,
    as_json: AsJson = False,
) -> None:
    """Turn each open request into a task of a project, just once.

    Example: hutch label-studio push --store labels.db --url http://localhost:8080 --project 3
    """
    from hutch.active.label_studio.client import Client
    from hutch.active.label_studio.exchange import push as push_requests
    from hutch.active.label_studio.question import configuration_for, question_of
    from hutch.durable.store import Store

    if (project is None) == (create is None):
        raise UsageError("wanted either --project N or --create TITLE")
    client = Client(url, api_key)
    with Store(store) as opened:
        labels = opened.labels_allowed
        names = label_names(name or [], labels)
        if create is not None:
            document = open_document(opened) or {"text": ""}
            fields = columns_of(show, document) or list(document)
            wanted = opened.wanted
            project = client.create_project(create, configuration_for(labels, names, fields), wanted)
        assert project is not None
        question = question_of(client.configuration(project), labels, names)
        added, there = push_requests(opened, client, project, question)
    if as_json:
        print(dumps({"project": project, "added": added, "there": there}))
    else:
        print(f"project {project}: {counted(added, 'task')} added, {there} there already")


@app.command()
def pull(
    store: StoreFile,
    url: Url,
    api_key: Key,
    project: Annotated[int, Option(metavar="N", help="Number of the project.")],
    name: Names = None,
    as_json: AsJson = False,
) -> None:
    """Record the annotations of a project as answers, each just once.

    Example: hutch label-studio pull --store labels.db --url http://localhost:8080 --project 3
    """
    from hutch.active.label_studio.client import Client
    from hutch.active.label_studio.exchange import pull as pull_answers
    from hutch.active.label_studio.question import question_of
    from hutch.durable.store import Store

    client = Client(url, api_key)
    with Store(store) as opened:
        labels = opened.labels_allowed
        question = question_of(client.configuration(project), labels, label_names(name or [], labels))
        found = pull_answers(opened, client, project, question)
    for problem in found.problems:
        print(f"left out: {problem}", file=sys.stderr)
    if as_json:
        numbers = {"new": found.new, "known": found.known, "changed": found.changed, "left_out": len(found.problems)}
        print(dumps(numbers))
    else:
        print(f"{counted(found.new, 'new answer')}, {found.known} known already, {found.changed} changed")
