"""The names by which the columns of a plain table are known."""

import re
from collections.abc import Sequence

HEADERS = {
    "worker": {
        "worker", "workerid", "annotator", "annotatorid", "rater", "user", "userid", "labeler", "labeller", "performer",
        "judge",
    },
    "task": {"task", "taskid", "item", "itemid", "example", "question", "image", "unit", "unitid"},
    "kind": {"kind"},
    "price": {"price"},
    "label": {
        "label", "answer", "class", "response", "rating", "category", "truth", "gold", "groundtruth", "goldlabel",
    },
    "gold": {"truth", "gold", "groundtruth", "goldlabel"},
}  # fmt: skip
"""Names without case, blanks, `-` and `_`."""
USUAL = {
    "worker": {"username", "useremail", "workername", "annotatorname", "raterid", "ratername", "labelerid", "coder",
               "reviewer", "reviewerid", "assessor", "coderid"},
    "task": {"id", "instance", "instanceid", "exampleid", "sample", "sampleid", "document", "documentid", "doc",
             "docid", "subject", "subjectid", "subjectids", "idx", "index", "taskname", "itemname"},
    "label": {"score", "verdict", "vote", "annotation", "grade", "value", "choice"},
    "question": {"question", "questionid", "criterion", "criteria", "field", "dimension", "aspect", "attribute",
                 "metric", "rubric", "trait"},
}  # fmt: skip
"""Names that such columns often have, and others sometimes: what the values say goes first."""
AGAIN = set("run epoch attempt trial order swapped pass seed round repeat repetition iteration batch session".split())
"""Names of a column that tells repeated answers to one question apart."""
BESIDE = AGAIN | set(
    "kind price probability weight time timestamp tstamp date datetime created createdat updatedat submittedat "
    "duration seconds leadtime worktime comment comments note notes text language lang country".split()
)
"""Names of columns that hold neither workers, tasks, labels nor questions."""
_ID = re.compile(r"([\s_-](id|ID|Id|no|number|nr)|(?<=[a-z])I[dD])$")
"""The end of a name of ids, such as `ticket_id` and `ticketId`."""
_PEOPLE = HEADERS["worker"] | USUAL["worker"] | {"person", "email", "labelset", "account"}


def key_of(field: str) -> str:
    """A header without case, blanks, `-` and `_`."""
    return re.sub(r"[\s_-]", "", field.lower())


def places_of(fields: Sequence[str], role: str) -> list[int]:
    """The columns whose names are known for a role; a label that may be gold is one only if there is no other."""
    keys = [key_of(field) for field in fields]
    found = [place for place, key in enumerate(keys) if key in HEADERS[role]]
    if role == "label":
        found = [place for place in found if keys[place] not in HEADERS["gold"]] or found
    return found


def usual_of(fields: Sequence[str], role: str) -> list[int]:
    """The columns whose names such columns often have; for a task also `ticket_id` and the like, if nobody else's."""
    found = [place for place, field in enumerate(fields) if key_of(field) in USUAL[role]]
    if role == "task" and not found:
        others = _PEOPLE | BESIDE | USUAL["question"]
        found = [place for place, field in enumerate(fields) if _ID.search(field) and not _stem(field) & others]
    return found


def _stem(field: str) -> set[str]:
    """The key of a field, with and without its end."""
    return {key_of(field), key_of(_ID.sub("", field))}
