"""The question of a Label Studio project, and the label of each choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from hutch.core.errors import DataError
from hutch.durable.records import SKIP, canonical_label


@dataclass(frozen=True)
class Question:
    """A single choice.

    Attributes:
        from_name, to_name: of the control and the object in the labelling configuration.
        labels: label of each choice.
    """

    from_name: str
    to_name: str
    labels: Mapping[str, str]

    def result_of(self, label: str) -> list[dict[str, Any]]:
        """An annotation's result that gives a label; empty if the label has no choice."""
        choice = next((name for name, found in self.labels.items() if found == label), None)
        if choice is None:
            return []
        place = {"from_name": self.from_name, "to_name": self.to_name}
        return [{**place, "type": "choices", "value": {"choices": [choice]}}]

    def label_of(self, annotation: Mapping[str, Any]) -> str:
        """The label that an annotation gives, `SKIP` if it was cancelled.

        Raises:
            DataError: it gives no label, several, or an unknown one.
        """
        if annotation.get("was_cancelled"):
            return SKIP
        given = [
            choice
            for result in annotation.get("result") or []
            if isinstance(result, dict)
            and result.get("from_name") == self.from_name
            and result.get("type") == "choices"
            for choice in (result.get("value") or {}).get("choices") or []
        ]
        if len(given) != 1:
            raise DataError(f"got {len(given)} choices, wanted 1")
        if given[0] not in self.labels:
            raise DataError(f"got the choice {given[0]!r}, wanted one of {', '.join(self.labels)}")
        return self.labels[given[0]]


def question_of(configuration: str, labels: Sequence[str], names: Mapping[str, str]) -> Question:
    """The question in a project's labelling configuration.

    Args:
        configuration: XML.
        labels: the valid labels, in canonical form.
        names: the text that people read instead of a label; a choice is a label's name, or the label itself.

    Raises:
        DataError: it is not XML, has no single choice, or a label has no choice.
    """
    try:
        root = ElementTree.fromstring(configuration)
    except ElementTree.ParseError as error:
        raise DataError(f"the labelling configuration is not XML: {error}") from None
    asked = root.find(".//Choices")
    if asked is None:
        raise DataError("the labelling configuration has no <Choices>, wanted one with a <Choice> per label")
    if asked.get("choice", "single").startswith("multiple"):
        raise DataError(f"<Choices name={asked.get('name')!r}> takes several choices, wanted choice='single'")
    choices = [choice.get("alias") or choice.get("value") or "" for choice in asked.iter("Choice")]
    by_name = {names.get(label, label): label for label in labels}
    found = {choice: by_name[choice] for choice in choices if choice in by_name}
    if missing := [names.get(label, label) for label in labels if label not in found.values()]:
        text = f"no choice for {', '.join(missing)}, got {', '.join(choices)}; --name LABEL=CHOICE says which is which"
        raise DataError(f"<Choices name={asked.get('name')!r}>: {text}")
    if not labels:
        found = {choice: label for choice in choices if (label := canonical_label(choice))}
    return Question(asked.get("name", ""), asked.get("toName", ""), found)


def configuration_for(labels: Sequence[str], names: Mapping[str, str], fields: Sequence[str]) -> str:
    """A labelling configuration that shows some fields of a task and asks for a label."""
    shown = "".join(f"<Text name={quoteattr(f'field_{n}')} value={quoteattr('$' + f)}/>" for n, f in enumerate(fields))
    choices = "".join(f"<Choice value={quoteattr(names.get(label, label))}/>" for label in labels)
    asked = f'<Choices name="label" toName="field_0" choice="single" showInLine="true">{choices}</Choices>'
    return f"<View>{shown}{asked}</View>"
