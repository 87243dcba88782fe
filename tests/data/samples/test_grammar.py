"""The phrases, clauses and sentences of the sample corpus, against German by hand."""

import pytest

from tfnmt.data.samples import lexicon
from tfnmt.data.samples.clauses import (
    be_clause,
    because,
    fronted,
    if_clause,
    statement,
    that_clause,
    verb_clause,
    yes_no_question,
)
from tfnmt.data.samples.phrases import noun_phrase, object_pronoun, prepositional, subject_pronoun, time_phrase

NOUNS = {noun.english: noun for noun in lexicon.NOUNS}
ADJECTIVES = {adjective.english: adjective for adjective in lexicon.ADJECTIVES}
VERBS = {verb.english: verb for verb in (*lexicon.VERBS, *lexicon.CLAUSE_VERBS)}


def pair_of(sentence):
    return sentence.english, sentence.german


def phrase(words, case="nominative", plural=False, negated=False):
    """phrase("a red ball"), phrase("my old dog", plural=True): the article and the noun as in the lexicon."""
    determiner, *adjective, noun = words.split()
    adjective = ADJECTIVES[adjective[0]] if adjective else None
    return noun_phrase(NOUNS[noun], case, determiner, adjective, plural, negated)


@pytest.mark.parametrize(
    ("case", "german"),
    [
        ("nominative", ["der rote Ball", "ein roter Ball", "mein Ball", "die neue Tür", "eine neue Tür"]),
        (
            "accusative",
            ["den roten Ball", "einen roten Ball", "meinen Ball", "die neue Tür", "eine neue Tür"],
        ),
        ("dative", ["dem roten Ball", "einem roten Ball", "meinem Ball", "der neuen Tür", "einer neuen Tür"]),
    ],
)
def test_noun_phrases_masculine_and_feminine(case, german):
    english = ["the red ball", "a red ball", "my ball", "the new door", "a new door"]
    assert [phrase(words, case).german for words in english] == german


@pytest.mark.parametrize(
    ("case", "german"),
    [
        ("nominative", ["das alte Haus", "ein altes Haus", "der Junge", "ein junger Bär"]),
        ("accusative", ["das alte Haus", "ein altes Haus", "den Jungen", "einen jungen Bären"]),
        ("dative", ["dem alten Haus", "einem alten Haus", "dem Jungen", "einem jungen Bären"]),
    ],
)
def test_noun_phrases_neuter_and_weak(case, german):
    english = ["the old house", "an old house", "the boy", "a young bear"]
    phrases = [phrase(words, case) for words in ("the old house", "a old house", "the boy", "a young bear")]
    assert [each.english for each in phrases] == english
    assert [each.german for each in phrases] == german


@pytest.mark.parametrize(
    ("case", "german"),
    [
        ("nominative", ["die kleinen Kinder", "kleine Kinder", "keine kleinen Kinder", "meine Frauen"]),
        ("accusative", ["die kleinen Kinder", "kleine Kinder", "keine kleinen Kinder", "meine Frauen"]),
        ("dative", ["den kleinen Kindern", "kleinen Kindern", "keinen kleinen Kindern", "meinen Frauen"]),
    ],
)
def test_noun_phrases_in_the_plural(case, german):
    phrases = [
        phrase("the small child", case, plural=True),
        phrase("a small child", case, plural=True),
        phrase("a small child", case, plural=True, negated=True),
        phrase("my woman", case, plural=True),
    ]
    assert [each.english for each in phrases] == [
        "the small children",
        "small children",
        "small children",
        "my women",
    ]
    assert [each.german for each in phrases] == german


def test_statement_puts_the_separable_prefix_last():
    objects = (phrase("the expensive suitcase", "accusative"),)
    clause = verb_clause(phrase("the woman"), VERBS["open"], objects, time=time_phrase("today"))
    assert pair_of(statement(clause)) == (
        "The woman opens the expensive suitcase today.",
        "Die Frau macht heute den teuren Koffer auf.",
    )


def test_a_pronoun_comes_before_the_time():
    clause = verb_clause(
        subject_pronoun("they"), VERBS["look at"], (object_pronoun("she"),), time=time_phrase("every day")
    )
    assert pair_of(statement(clause)) == ("They look at her every day.", "Sie sehen sie jeden Tag an.")


def test_fronting_inverts_subject_and_verb():
    clause = verb_clause(subject_pronoun("I"), VERBS["invite"], (phrase("a friendly boy", "accusative"),))
    assert pair_of(fronted(time_phrase("in the evening"), clause)) == (
        "In the evening I invite a friendly boy.",
        "Am Abend lade ich einen freundlichen Jungen ein.",
    )


def test_perfect_with_sein_and_contracted_preposition():
    place = prepositional("in", phrase("the green garden", "dative"))
    clause = verb_clause(phrase("my horse", plural=True), VERBS["run"], tense="perfect", complement=place)
    english, german = (
        "My horses have run in the green garden.",
        "Meine Pferde sind im grünen Garten gelaufen.",
    )
    assert pair_of(statement(clause)) == (english, german)


def test_modal_verb_puts_the_infinitive_last():
    helped = prepositional("for", object_pronoun("he"))
    objects = (phrase("a window", "accusative"),)
    clause = verb_clause(phrase("a girl"), VERBS["open"], objects, tense="want", complement=helped)
    assert pair_of(statement(clause)) == (
        "A girl wants to open a window for him.",
        "Ein Mädchen will ein Fenster für ihn aufmachen.",
    )


def test_recipient_is_dative():
    objects = (phrase("the old queen", "dative"), phrase("a egg", "accusative"))
    clause = verb_clause(phrase("the man"), VERBS["give"], objects, tense="perfect")
    assert pair_of(statement(clause)) == (
        "The man has given the old queen an egg.",
        "Der Mann hat der alten Königin ein Ei gegeben.",
    )


def test_indefinite_object_is_negated_by_kein():
    objects = (phrase("a red flower", "accusative", negated=True),)
    clause = verb_clause(phrase("the child"), VERBS["buy"], objects, negated=True)
    english = "The child does not buy a red flower."
    assert pair_of(statement(clause)) == (english, "Das Kind kauft keine rote Blume.")


def test_definite_object_is_negated_by_nicht():
    objects = (phrase("the cat", "dative", negated=True),)
    clause = verb_clause(phrase("the dog", plural=True), VERBS["follow"], objects, tense="can", negated=True)
    english = "The dogs cannot follow the cat."
    assert pair_of(statement(clause)) == (english, "Die Hunde können der Katze nicht folgen.")


def test_nicht_stands_before_a_preposition():
    companions = prepositional("with", phrase("a big dog", "dative", plural=True))
    clause = verb_clause(subject_pronoun("we"), VERBS["play"], negated=True, complement=companions)
    assert pair_of(statement(clause)) == (
        "We do not play with big dogs.",
        "Wir spielen nicht mit großen Hunden.",
    )


def test_questions_put_the_verb_first():
    clause = verb_clause(subject_pronoun("she"), VERBS["get up"], tense="perfect", question=True)
    assert pair_of(yes_no_question(clause)) == ("Has she got up?", "Ist sie aufgestanden?")
    objects = (phrase("my man", "dative"),)
    clause = verb_clause(phrase("the girl"), VERBS["help"], objects, tense="want", question=True)
    english, german = "Does the girl want to help my man?", "Will das Mädchen meinem Mann helfen?"
    assert pair_of(yes_no_question(clause)) == (english, german)
    clause = be_clause(phrase("the lamp", plural=True), ADJECTIVES["expensive"])
    assert pair_of(yes_no_question(clause)) == ("Are the lamps expensive?", "Sind die Lampen teuer?")


def test_that_clause_puts_the_verb_last():
    clause = verb_clause(subject_pronoun("he"), VERBS["call"], (object_pronoun("they"),))
    assert pair_of(that_clause(subject_pronoun("I"), VERBS["know"], clause)) == (
        "I know that he calls them.",
        "Ich weiß, dass er sie anruft.",
    )


def test_because_puts_the_auxiliary_last():
    main = be_clause(phrase("the queen"), ADJECTIVES["tired"], negated=True)
    reason = verb_clause(phrase("the bear"), VERBS["arrive"], tense="perfect", negated=True)
    assert pair_of(because(main, reason)) == (
        "The queen is not tired because the bear has not arrived.",
        "Die Königin ist nicht müde, weil der Bär nicht angekommen ist.",
    )


def test_if_clause_inverts_the_main_clause():
    condition = verb_clause(subject_pronoun("I"), VERBS["close"], (phrase("the door", "accusative"),))
    main = verb_clause(phrase("the tired boy"), VERBS["sleep"], tense="will")
    assert pair_of(if_clause(condition, main)) == (
        "If I close the door, the tired boy will sleep.",
        "Wenn ich die Tür zumache, wird der müde Junge schlafen.",
    )
