"""Who does what to whom, in summary vectors: sentences as in Sutskever et al. (2014), the post's Figure 6, and numbers.

Sutskever's model has read "John admires Mary", "Mary admires John" and the like, and the same event in the active and
in the passive voice, with the place at either end. These are such sentences in the words of two corpora.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure, plain_text
from tfnmt.inspection.summary_vectors import principal_components

Encode = Callable[[Sequence[str]], np.ndarray]
"""Texts to vectors, float [texts, size]."""


@dataclass(frozen=True)
class Events:
    """All events that the words of a corpus can tell, and the forms in which they are told."""

    beings: tuple[str, ...]
    verbs: tuple[tuple[str, str, str], ...]
    """Of each: does, done, and another verb that means about the same as "does"."""
    places: tuple[str, ...]
    forms: Mapping[str, str]
    """{name: sentence with {agent}, {patient}, {does}, {done}, {also}, {place} and {Place}}; "active" first."""

    def all(self) -> list[tuple[str, str, tuple[str, str, str], str]]:
        """Each (agent, patient, verb, place)."""
        pairs = permutations(self.beings, 2)
        return [(*pair, verb, place) for pair, verb, place in product(pairs, self.verbs, self.places)]

    def sentence(self, form: str, agent: str, patient: str, verb: tuple[str, str, str], place: str) -> str:
        """What the agent does to the patient, in one of the forms."""
        does, done, also = verb
        words = {"does": does, "done": done, "also": also, "place": place, "Place": place.capitalize()}
        return self.forms[form].format(agent=agent, patient=patient, **words)


EVENTS = {
    "sample": Events(
        beings=("man", "woman", "boy", "girl", "queen", "dog", "cat"),
        verbs=(("sees", "seen", "looks at"), ("follows", "followed", "looks for")),
        places=("in the garden", "in the kitchen", "in the city"),
        forms={
            "active": "The {agent} {does} the {patient} {place}.",
            "another verb": "The {agent} {also} the {patient} {place}.",
            "place first": "{Place} the {agent} {does} the {patient}.",
            "another tense": "The {agent} has {done} the {patient} {place}.",
        },
    ),
    "multi30k": Events(
        beings=("man", "woman", "boy", "girl", "dog"),
        verbs=(
            ("watching", "watched", "looking at"),
            ("hugging", "hugged", "embracing"),
            ("pulling", "pulled", "dragging"),
            ("chasing", "chased", "running after"),
        ),
        places=("in the park", "on the beach", "in the street"),
        forms={
            "active": "a {agent} is {does} a {patient} {place} .",
            "another verb": "a {agent} is {also} a {patient} {place} .",
            "place first": "{place} , a {agent} is {does} a {patient} .",
            "passive": "a {patient} is being {done} by a {agent} {place} .",
        },
    ),
}
"""In the words of the sample corpus, whose English has no passive, and of Multi30k, lowercased and tokenized."""


def role_figures(encode: Encode, events: Events) -> dict[str, dict[str, float]]:
    """How far summary vectors keep who does what to whom, over all events, by Euclidean distance.

    Returns:
        For each form but the active: "same_of_two", how often, of the two sentences of that form with agent and
        patient one way and the other, the one that says the same as an active sentence is nearer to it (by chance
        0.5; a tie counts as half); and "before_swapped", how often the one that says the same is nearer than the
        active sentence with agent and patient swapped, which has the same words.
    """
    all_events = events.all()
    vectors = {form: encode([events.sentence(form, *event) for event in all_events]) for form in events.forms}
    places = {event: i for i, event in enumerate(all_events)}
    swapped = [places[patient, agent, *rest] for agent, patient, *rest in all_events]
    active = vectors.pop("active")
    to_swapped = _distances(active, active[swapped])
    figures = {}
    for form, others in vectors.items():
        same, other = _distances(active, others), _distances(active, others[swapped])
        figures[form] = {"same_of_two": _share(same, other), "before_swapped": _share(same, to_swapped)}
    return figures


def _distances(one, other):
    return np.linalg.norm(one - other, axis=1)


def _share(less, more):
    return float(np.mean((less < more) + 0.5 * (less == more)))


@plain_text()
def draw_roles(encode: Encode, events: Events) -> Figure:
    """The picture, as Sutskever's: at the left three verbs, at the right three forms, each with both roles.

    Each panel has the first two principal components of its own six sentences.
    """
    figure = new_figure(12, 6)
    left, right = figure.subfigures(1, 2)
    active, other_verb, *others = events.forms
    (first, second, *_), place = events.verbs, events.places[0]
    _draw_panel(left, encode, events, ((active, first), (other_verb, first), (active, second)), place)
    _draw_panel(right, encode, events, [(form, first) for form in (active, *others)], place)
    return figure


def _draw_panel(panel, encode, events, told, place):
    """A marker for each form and verb, a colour for each way round of two beings."""
    two = events.beings[:2]
    texts = [events.sentence(form, *roles, verb, place) for form, verb in told for roles in (two, two[::-1])]
    projected, explained = principal_components(encode(texts))
    axes = panel.subplots()
    for i, (text, point) in enumerate(zip(texts, projected, strict=True)):
        axes.scatter(*point, color=(BLUE, ORANGE)[i % 2], marker="os^"[i // 2], s=80, label=text)
    axes.margins(0.1)
    axes.set_xlabel(f"first principal component ({explained[0]:.0%} of the variance)")
    axes.set_ylabel(f"second ({explained[1]:.0%})")
    panel.legend(loc="outside lower center", fontsize=8)
