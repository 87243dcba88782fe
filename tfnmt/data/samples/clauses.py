"""Clauses and sentences of the sample corpus, built in English and German at once.

A clause keeps its German in pieces (subject, finite verb, middle field, verbal end), which the sentences put in German
order:

    verb second   Der Hund sieht heute den Ball an.   Heute sieht der Hund ...   Wenn ..., sieht der Hund ...
    verb first    Hat der Hund den Ball angesehen?
    verb last     ..., dass der Hund den Ball ansieht.   ..., weil der Hund den Ball angesehen hat.

sentences.py draws what they say.
"""

from dataclasses import dataclass

from tfnmt.data.samples.lexicon import Adjective, Verb
from tfnmt.data.samples.phrases import THIRD, Phrase, join

# Verb forms by agreement: I, he/she, we/they.
BE, HAVE, DO = ("am", "is", "are"), ("have", "has", "have"), ("do", "does", "do")
SEIN, HABEN = ("bin", "ist", "sind"), ("habe", "hat", "haben")
MODALS = {
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "want": ("will", "will", "wollen"),
    "will": ("werde", "wird", "werden"),
}
TENSES = ("present", "perfect", *MODALS)


@dataclass(frozen=True)
class Clause:
    """A subject and what it does. German is kept in pieces, for the sentence builders to order."""

    subject: Phrase
    auxiliary: str  # the English word that a question puts first; empty in "The dog sees"
    predicate: str  # the rest of the English clause
    finite: str  # the German verb that agrees with the subject
    middle: str  # between the two verbs: objects, adverbials, negation
    end: str  # prefix, participle or infinitive
    verb_last: str  # both verbs, as a subordinate clause ends
    pairs: tuple[tuple[str, str], ...]

    def english(self) -> str:
        return join(self.subject.english, self.auxiliary, self.predicate)

    def german_verb_second(self) -> str:
        return join(self.subject.german, self.finite, self.middle, self.end)

    def german_inverted(self) -> str:
        return join(self.finite, self.subject.german, self.middle, self.end)

    def german_verb_last(self) -> str:
        return join(self.subject.german, self.middle, self.verb_last)


def verb_clause(
    subject: Phrase,
    verb: Verb,
    objects: tuple[Phrase, ...] = (),
    tense: str = "present",
    negated: bool = False,
    question: bool = False,
    complement: Phrase | None = None,
    time: Phrase | None = None,
) -> Clause:
    """What `subject` does, may do or has done.

    objects: in English order, recipient first, in the case the verb asks for; `negated` if the clause is.
    tense: one of TENSES; "can", "must" (never negated), "want" and "will" are that verb with an infinitive.
    question: whether yes_no_question will use the clause.
    complement: what follows the objects, with a preposition.
    """
    auxiliary, english_verb = english_verbs(verb, tense, subject.agreement, negated, question)
    finite, end, verb_last = german_verbs(verb, tense, subject.agreement)
    adverbials = [phrase for phrase in (complement, time) if phrase]
    pronouns = [phrase.german for phrase in objects if not phrase.noun]
    nouns = [phrase.german for phrase in objects if phrase.noun]
    nicht = "nicht" if negated and not any(phrase.negated for phrase in objects) else ""
    pairs = [pair for phrase in (subject, *objects, *adverbials) for pair in phrase.pairs]
    pairs += [(verb.english, phrase.noun.english) for phrase in objects[-1:] if phrase.noun]
    return Clause(
        subject,
        auxiliary,
        join(english_verb, *(phrase.english for phrase in (*objects, *adverbials))),
        finite,
        join(*pronouns, time.german if time else "", *nouns, nicht, complement.german if complement else ""),
        end,
        verb_last,
        tuple(pairs),
    )


def english_verbs(verb: Verb, tense: str, agreement: int, negated: bool, question: bool) -> tuple[str, str]:
    """The auxiliary, if any (with "not"), and the main verb."""
    if tense in ("present", "want"):
        base, third = verb.english, verb.third
        if tense == "want":
            base, third = f"want to {base}", f"wants to {base}"
        if not negated and not question:
            return "", third if agreement == THIRD else base
        auxiliary, main = DO[agreement], base
    elif tense == "perfect":
        auxiliary, main = HAVE[agreement], verb.participle
    else:
        auxiliary, main = tense, verb.english
    if negated:
        auxiliary = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return auxiliary, main


def german_verbs(verb: Verb, tense: str, agreement: int) -> tuple[str, str, str]:
    """The finite verb, the verbal end of a main clause, and the two as a subordinate clause has them."""
    if tense == "present":
        first = verb.german_first or verb.infinitive.removesuffix("n")
        finite = (first, verb.german_third, verb.infinitive)[agreement]
        return finite, verb.prefix, verb.prefix + finite
    if tense == "perfect":
        finite, end = (SEIN if verb.auxiliary == "sein" else HABEN)[agreement], verb.german_participle
    else:
        finite, end = MODALS[tense][agreement], verb.prefix + verb.infinitive
    return finite, end, f"{end} {finite}"


def be_clause(
    subject: Phrase, complement: Adjective | Phrase, negated: bool = False, time: Phrase | None = None
) -> Clause:
    """`complement`: an adjective or a place: The ball is red, The ball is in the garden."""
    pairs: tuple[tuple[str, str], ...]
    if isinstance(complement, Adjective):
        pairs = ((complement.english, subject.noun.english),) if subject.noun else ()
    else:
        pairs = complement.pairs
    auxiliary, finite = BE[subject.agreement], SEIN[subject.agreement]
    return Clause(
        subject,
        f"{auxiliary} not" if negated else auxiliary,
        join(complement.english, time.english if time else ""),
        finite,
        join(time.german if time else "", "nicht" if negated else "", complement.german),
        "",
        finite,
        subject.pairs + pairs,
    )


# Sentences


@dataclass(frozen=True)
class Sentence:
    """A sentence in both languages, with the pairs of words that stand together in it."""

    english: str
    german: str
    pairs: tuple[tuple[str, str], ...]  # as in Phrase


def sentence(english: str, german: str, *parts: Clause | Phrase, mark: str = ".") -> Sentence:
    """With capital letters and a mark at the end; `parts` are what it is made of, for their pairs of words."""
    return Sentence(
        english[0].upper() + english[1:] + mark,
        german[0].upper() + german[1:] + mark,
        tuple(pair for part in parts for pair in part.pairs),
    )


def statement(clause: Clause) -> Sentence:
    """The dog sees the ball. / Der Hund sieht den Ball."""
    return sentence(clause.english(), clause.german_verb_second(), clause)


def fronted(adverbial: Phrase, clause: Clause) -> Sentence:
    """Today the dog sleeps. / Heute schläft der Hund."""
    english = f"{adverbial.english} {clause.english()}"
    return sentence(english, f"{adverbial.german} {clause.german_inverted()}", adverbial, clause)


def yes_no_question(clause: Clause) -> Sentence:
    """`clause` has an auxiliary and is not negated. Has the dog slept? / Hat der Hund geschlafen?"""
    english = join(clause.auxiliary, clause.subject.english, clause.predicate)
    return sentence(english, clause.german_inverted(), clause, mark="?")


def that_clause(subject: Phrase, verb: Verb, clause: Clause) -> Sentence:
    """The man knows that the dog sleeps. / Der Mann weiß, dass der Hund schläft."""
    main = verb_clause(subject, verb)
    english = f"{main.english()} that {clause.english()}"
    return sentence(english, f"{main.german_verb_second()}, dass {clause.german_verb_last()}", main, clause)


def because(main: Clause, reason: Clause) -> Sentence:
    """The man laughs because the dog sleeps. / Der Mann lacht, weil der Hund schläft."""
    english = f"{main.english()} because {reason.english()}"
    return sentence(english, f"{main.german_verb_second()}, weil {reason.german_verb_last()}", main, reason)


def if_clause(condition: Clause, main: Clause) -> Sentence:
    """If the dog sleeps, the man laughs. / Wenn der Hund schläft, lacht der Mann."""
    english = f"if {condition.english()}, {main.english()}"
    german = f"wenn {condition.german_verb_last()}, {main.german_inverted()}"
    return sentence(english, german, condition, main)
