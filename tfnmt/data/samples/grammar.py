"""The grammar of the sample corpus: builders that make a piece of a sentence in English and German at once.

A noun phrase knows its German gender and case ("a red ball" / "einen roten Ball"). A clause keeps its German
in pieces (subject, finite verb, middle field, verbal end), which the sentence builders put in German order:

    verb second   Der Hund sieht heute den Ball an.   Heute sieht der Hund ...   Wenn ..., sieht der Hund ...
    verb first    Hat der Hund den Ball angesehen?
    verb last     ..., dass der Hund den Ball ansieht.   ..., weil der Hund den Ball angesehen hat.

The words are in sample_lexicon.py; what is said with them is drawn in sample.py.
"""

from dataclasses import dataclass

from tfnmt.data.samples.lexicon import PREPOSITIONS, PRONOUNS, TIMES, Adjective, Noun, Verb

# Agreement of subject and verb, and the index of the verb forms below: I, he/she, we/they.
FIRST, THIRD, PLURAL = 0, 1, 2
BE, HAVE, DO = ("am", "is", "are"), ("have", "has", "have"), ("do", "does", "do")
SEIN, HABEN = ("bin", "ist", "sind"), ("habe", "hat", "haben")
MODALS = {
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "want": ("will", "will", "wollen"),
    "will": ("werde", "wird", "werden"),
}
TENSES = ("present", "perfect", *MODALS)

# German declension, by case; the columns are masculine, feminine, neuter and plural.
GENDERS = ("masculine", "feminine", "neuter", "plural")
DEFINITE = {
    "nominative": ("der", "die", "das", "die"),
    "accusative": ("den", "die", "das", "die"),
    "dative": ("dem", "der", "dem", "den"),
}
EIN = {
    "nominative": ("", "e", "", "e"),
    "accusative": ("en", "e", "", "e"),
    "dative": ("em", "er", "em", "en"),
}
ADJECTIVE_AFTER_DEFINITE = {
    "nominative": ("e", "e", "e", "en"),
    "accusative": ("en", "e", "e", "en"),
    "dative": ("en", "en", "en", "en"),
}
ADJECTIVE_AFTER_EIN = {
    "nominative": ("er", "e", "es", "en"),
    "accusative": ("en", "e", "es", "en"),
    "dative": ("en", "en", "en", "en"),
}
ADJECTIVE_ALONE = {"nominative": "e", "accusative": "e", "dative": "en"}  # bare plural: rote Bälle


@dataclass(frozen=True)
class Phrase:
    """Part of a sentence in both languages."""

    english: str
    german: str
    agreement: int = THIRD
    pairs: tuple[tuple[str, str], ...] = ()  # the combinations in it that may be held out, as English words
    noun: Noun | None = None  # None for a pronoun and after a preposition
    negated: bool = False  # its German says kein


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


def join(*parts: str) -> str:
    """The parts with spaces between, empty ones left out."""
    return " ".join(part for part in parts if part)


def noun_phrase(
    noun: Noun,
    case: str = "nominative",
    determiner: str = "the",
    adjective: Adjective | None = None,
    plural: bool = False,
    negated: bool = False,
) -> Phrase:
    """`determiner`: "the", "my" or "a" (no article in the plural). `negated`: kein instead of ein."""
    gender = GENDERS.index("plural" if plural else noun.gender)
    negated = negated and determiner == "a"
    bare = determiner == "a" and plural
    if determiner == "the":
        article, ending = DEFINITE[case][gender], ADJECTIVE_AFTER_DEFINITE[case][gender]
    elif bare and not negated:
        article, ending = "", ADJECTIVE_ALONE[case]
    else:
        stem = "mein" if determiner == "my" else "kein" if negated else "ein"
        article, ending = stem + EIN[case][gender], ADJECTIVE_AFTER_EIN[case][gender]
    german_noun = noun.german_plural if plural else noun.german
    if plural and case == "dative" and german_noun[-1] not in "ns":
        german_noun += "n"
    if noun.weak and not plural and case != "nominative":
        german_noun = noun.german_plural
    english = join(adjective.english if adjective else "", noun.english_plural if plural else noun.english)
    if not bare:
        english = f"{'an' if determiner == 'a' and english[0] in 'aeiou' else determiner} {english}"
    return Phrase(
        english,
        join(article, adjective.stem + ending if adjective else "", german_noun),
        PLURAL if plural else THIRD,
        ((adjective.english, noun.english),) if adjective else (),
        noun,
        negated,
    )


def subject_pronoun(pronoun: str) -> Phrase:
    """ "I", "he", … / ich, er, …, in the nominative."""
    agreement = {"I": FIRST, "he": THIRD, "she": THIRD}.get(pronoun, PLURAL)
    return Phrase(pronoun, PRONOUNS[pronoun][1], agreement)


def object_pronoun(pronoun: str, case: str = "accusative") -> Phrase:
    """`pronoun` as it is called as subject, in the accusative or dative: "he" gives him / ihn or ihm."""
    english, _, accusative, dative = PRONOUNS[pronoun]
    return Phrase(english, dative if case == "dative" else accusative)


def prepositional(preposition: str, phrase: Phrase) -> Phrase:
    """`phrase` is in the case that PREPOSITIONS names. "in dem" becomes "im"."""
    german = f"{PREPOSITIONS[preposition][0]} {phrase.german}".replace("in dem ", "im ")
    return Phrase(f"{preposition} {phrase.english}", german, pairs=phrase.pairs)


def time_phrase(time: str) -> Phrase:
    """A time of `TIMES`, such as "in the evening" / am Abend."""
    return Phrase(time, TIMES[time][0])


# Clauses


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
