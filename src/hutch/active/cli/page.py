"""Options, pool and page that the serving commands of `hutch active` share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.shell.declared import Option

if TYPE_CHECKING:
    from hutch.active.page import Look
    from hutch.durable.store import Store

StoreFile = Annotated[Path, Option("--store", metavar="FILE", help="The label store, an SQLite file.")]
Names = Annotated[
    list[str] | None,
    Option("--name", metavar="LABEL=NAME", help="What workers read, in the order of the keys: 1=spam. Repeatable."),
]


def label_names(pairs: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Names that people read instead of labels, from `--name LABEL=NAME`, in the order given.

    Args:
        pairs: the options.
        labels: that may be given, in canonical form; empty: any number.

    Raises:
        UsageError: no LABEL=NAME, no such label, or one name for two labels.
    """
    from hutch.core.errors import UsageError
    from hutch.durable.records import canonical_label

    found: dict[str, str] = {}
    for pair in pairs:
        label, equals, text = pair.partition("=")
        canonical = canonical_label(label)
        if not equals or not text or canonical is None or canonical not in (labels or (canonical,)):
            wanted = ", ".join(labels) or "a number"
            raise UsageError(f"--name: got {pair!r}, wanted LABEL=NAME with a label of {wanted}")
        if text in found.values():
            raise UsageError(f"--name: got {text!r} for two labels, wanted different names")
        found[canonical] = text
    return found


def columns_of(show: str | None, document: Mapping[str, Any] | None) -> list[str]:
    """The columns that `--show` names.

    Raises:
        UsageError: the document, if given, lacks a column.
    """
    from hutch.active.documents import check_shown

    columns = [column for column in (show or "").split(",") if column]
    check_shown(columns, document or ())
    return columns


def open_document(store: "Store") -> dict[str, Any] | None:
    """The document of the oldest open request; None without one, or if it is a line."""
    first = next(store.open_requests(), None)
    return store.document(first.id) if first else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The page on which people answer, as the options say."""

    port: Annotated[int, Option(min=0, max=65535, metavar="N", help="Port of the page; 0: any free one.")] = 8765
    lease: Annotated[
        float, Option(min=1, metavar="X", help="Seconds for which a request shown to one person is hidden from others.")
    ] = 300.0
    audits: Annotated[
        float,
        Option(
            "--audits",
            min=0,
            max=1,
            metavar="X",
            help="Labels of a person whose answers are worth little, as a share of what others give; 1: no limit.",
        ),
    ] = 0.05
    host: Annotated[
        str, Option(metavar="ADDRESS", help="Address of the page; 0.0.0.0 is every address of this machine.")
    ] = "127.0.0.1"
    token: Annotated[
        str,
        Option(envvar="HUTCH_TOKEN", metavar="TEXT", help="Secret part of the page's address.", show_default="random"),
    ] = ""
    name: Names = None
    instructions: Annotated[
        str | None, Option(metavar="TEXT", help="What the page says above the requests; @FILE reads a file.")
    ] = None
    show: Annotated[
        str | None,
        Option(metavar="A,B,...", help="Columns of a table that the page shows.", show_default="all but the label's"),
    ] = None

    def check(self) -> None:
        """Refuse what no page could have.

        Raises:
            UsageError: the token cannot be a part of an address, or is short; or HTTP needs more than is installed.
        """
        import re

        from hutch.core.errors import UsageError
        from hutch.net.web import require_web

        require_web("the page")
        if self.token and not re.fullmatch(r"[A-Za-z0-9_-]{8,200}", self.token):
            raise UsageError("--token: wanted at least 8 letters, digits, - and _")

    def look(self, store: "Store", document: Mapping[str, Any] | None) -> "Look":
        """The look of the page; `document` is one of those to be shown.

        Raises:
            UsageError: a name that cannot be, or a column that the document does not have.
            DataError: the file of instructions cannot be read.
        """
        from hutch.active.page import Look
        from hutch.core.errors import DataError, at

        text = self.instructions or ""
        if text.startswith("@"):
            try:
                text = Path(text[1:]).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise DataError(at(text[1:], None, None, f"cannot be read: {error}")) from None
        return Look(label_names(self.name or [], store.labels_allowed), text, columns_of(self.show, document))

    def serve(self, store: "Store", look: "Look") -> None:
        """Serve the page until interrupted."""
        from hutch.active.page import LIMITS, create_app
        from hutch.net.web import listen, run_app

        host, secret = self.host, self.token or store.token
        page = create_app(store, secret, lease_seconds=self.lease, look=look, host=host, audits=self.audits)
        with listen(host, self.port) as listening:
            address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/{secret}/"
            text = f"{address}\nanyone with this address can answer; ctrl-c ends"
            run_app(page, listening, lambda: print(text, flush=True), LIMITS)
