"""The words of the sample corpus in English and German, with their irregular forms.

The kind of a noun says which verbs and adjectives it goes with, so that nobody eats a window.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun, and what verbs and adjectives it goes with (`kind`)."""

    english: str  # singular
    english_plural: str
    german: str  # nominative singular
    german_plural: str  # nominative plural
    gender: str  # "masculine", "feminine", "neuter"
    kind: str
    weak: bool = False  # der Junge, but den Jungen, dem Jungen


@dataclass(frozen=True)
class Adjective:
    """An adjective, and the kinds of nouns that it is said of."""

    english: str
    german: str  # as predicate: Der Hund ist müde
    stem: str  # before an ending: der müd-e Hund
    kinds: tuple[str, ...]  # of the nouns it describes


@dataclass(frozen=True)
class Verb:
    """A verb: its forms, and who does it to whom."""

    english: str  # base form
    third: str  # he ...
    participle: str
    infinitive: str  # German, without the separable prefix
    german_third: str  # er ..., without the prefix
    german_participle: str
    prefix: str = ""  # separable: "auf" in aufmachen
    auxiliary: str = "haben"  # of the perfect tense: "haben" or "sein"
    objects: tuple[str, ...] = ()  # kinds of noun it takes as object
    object_case: str = "accusative"
    recipient: bool = False  # takes a person in the dative before its object: give
    subjects: tuple[str, ...] = ("person",)
    complements: tuple[str, ...] = ()  # prepositions that may follow: "in", "with", "for"
    german_first: str = ""  # ich ..., where it is not the infinitive without its n


ANIMATE = ("person", "animal")
GOODS = ("thing", "reading", "food")
ANYTHING = ("person", "animal", "thing", "reading", "food", "opening", "place")

NOUNS = (
    Noun("man", "men", "Mann", "Männer", "masculine", "person"),
    Noun("woman", "women", "Frau", "Frauen", "feminine", "person"),
    Noun("child", "children", "Kind", "Kinder", "neuter", "person"),
    Noun("boy", "boys", "Junge", "Jungen", "masculine", "person", weak=True),
    Noun("girl", "girls", "Mädchen", "Mädchen", "neuter", "person"),
    Noun("queen", "queens", "Königin", "Königinnen", "feminine", "person"),
    Noun("dog", "dogs", "Hund", "Hunde", "masculine", "animal"),
    Noun("cat", "cats", "Katze", "Katzen", "feminine", "animal"),
    Noun("horse", "horses", "Pferd", "Pferde", "neuter", "animal"),
    Noun("bear", "bears", "Bär", "Bären", "masculine", "animal", weak=True),
    Noun("ball", "balls", "Ball", "Bälle", "masculine", "thing"),
    Noun("chair", "chairs", "Stuhl", "Stühle", "masculine", "thing"),
    Noun("flower", "flowers", "Blume", "Blumen", "feminine", "thing"),
    Noun("lamp", "lamps", "Lampe", "Lampen", "feminine", "thing"),
    Noun("bicycle", "bicycles", "Fahrrad", "Fahrräder", "neuter", "thing"),
    Noun("book", "books", "Buch", "Bücher", "neuter", "reading"),
    Noun("letter", "letters", "Brief", "Briefe", "masculine", "reading"),
    Noun("newspaper", "newspapers", "Zeitung", "Zeitungen", "feminine", "reading"),
    Noun("apple", "apples", "Apfel", "Äpfel", "masculine", "food"),
    Noun("cake", "cakes", "Kuchen", "Kuchen", "masculine", "food"),
    Noun("egg", "eggs", "Ei", "Eier", "neuter", "food"),
    Noun("banana", "bananas", "Banane", "Bananen", "feminine", "food"),
    Noun("door", "doors", "Tür", "Türen", "feminine", "opening"),
    Noun("window", "windows", "Fenster", "Fenster", "neuter", "opening"),
    Noun("suitcase", "suitcases", "Koffer", "Koffer", "masculine", "opening"),
    Noun("bag", "bags", "Tasche", "Taschen", "feminine", "opening"),
    Noun("garden", "gardens", "Garten", "Gärten", "masculine", "place"),
    Noun("house", "houses", "Haus", "Häuser", "neuter", "place"),
    Noun("kitchen", "kitchens", "Küche", "Küchen", "feminine", "place"),
    Noun("city", "cities", "Stadt", "Städte", "feminine", "place"),
)

ADJECTIVES = (
    Adjective("small", "klein", "klein", ANYTHING),
    Adjective("big", "groß", "groß", ANYTHING),
    Adjective("old", "alt", "alt", ("person", "animal", "thing", "reading", "opening", "place")),
    Adjective("beautiful", "schön", "schön", ANYTHING),
    Adjective("young", "jung", "jung", ANIMATE),
    Adjective("tired", "müde", "müd", ANIMATE),
    Adjective("hungry", "hungrig", "hungrig", ANIMATE),
    Adjective("friendly", "freundlich", "freundlich", ANIMATE),
    Adjective("new", "neu", "neu", ("thing", "reading", "opening", "place")),
    Adjective("green", "grün", "grün", ("thing", "food", "opening", "place")),
    Adjective("red", "rot", "rot", ("thing", "food", "opening")),
    Adjective("expensive", "teuer", "teur", ("thing", "reading", "food", "opening")),
)

VERBS = (
    Verb("see", "sees", "seen", "sehen", "sieht", "gesehen", objects=ANYTHING, subjects=ANIMATE,
         complements=("in",)),
    Verb("find", "finds", "found", "finden", "findet", "gefunden", objects=ANYTHING, subjects=ANIMATE),
    Verb("look at", "looks at", "looked at", "sehen", "sieht", "angesehen", prefix="an", objects=ANYTHING,
         subjects=ANIMATE),
    Verb("look for", "looks for", "looked for", "suchen", "sucht", "gesucht", objects=ANIMATE + GOODS,
         subjects=ANIMATE, complements=("in",)),
    Verb("buy", "buys", "bought", "kaufen", "kauft", "gekauft", objects=GOODS, complements=("in", "for")),
    Verb("sell", "sells", "sold", "verkaufen", "verkauft", "verkauft", objects=GOODS, complements=("in",)),
    Verb("carry", "carries", "carried", "tragen", "trägt", "getragen", objects=GOODS, subjects=ANIMATE,
         complements=("for",)),
    Verb("read", "reads", "read", "lesen", "liest", "gelesen", objects=("reading",), complements=("in",)),
    Verb("eat", "eats", "eaten", "essen", "isst", "gegessen", objects=("food",), complements=("in", "with")),
    Verb("open", "opens", "opened", "machen", "macht", "aufgemacht", prefix="auf", objects=("opening",),
         complements=("for",)),
    Verb("close", "closes", "closed", "machen", "macht", "zugemacht", prefix="zu", objects=("opening",)),
    Verb("visit", "visits", "visited", "besuchen", "besucht", "besucht", objects=("person",)),
    Verb("call", "calls", "called", "rufen", "ruft", "angerufen", prefix="an", objects=("person",)),
    Verb("invite", "invites", "invited", "laden", "lädt", "eingeladen", prefix="ein", objects=("person",)),
    Verb("help", "helps", "helped", "helfen", "hilft", "geholfen", objects=ANIMATE, object_case="dative",
         complements=("in",)),
    Verb("thank", "thanks", "thanked", "danken", "dankt", "gedankt", objects=("person",),
         object_case="dative"),
    Verb("follow", "follows", "followed", "folgen", "folgt", "gefolgt", auxiliary="sein", objects=ANIMATE,
         object_case="dative", subjects=ANIMATE),
    Verb("give", "gives", "given", "geben", "gibt", "gegeben", objects=GOODS, recipient=True),
    Verb("show", "shows", "shown", "zeigen", "zeigt", "gezeigt", objects=GOODS + ("place",), recipient=True),
    Verb("sleep", "sleeps", "slept", "schlafen", "schläft", "geschlafen", subjects=ANIMATE,
         complements=("in",)),
    Verb("run", "runs", "run", "laufen", "läuft", "gelaufen", auxiliary="sein", subjects=ANIMATE,
         complements=("in",)),
    Verb("play", "plays", "played", "spielen", "spielt", "gespielt", subjects=ANIMATE,
         complements=("in", "with")),
    Verb("work", "works", "worked", "arbeiten", "arbeitet", "gearbeitet", complements=("in", "with", "for")),
    Verb("laugh", "laughs", "laughed", "lachen", "lacht", "gelacht", complements=("in", "with")),
    Verb("sing", "sings", "sung", "singen", "singt", "gesungen", complements=("in", "with", "for")),
    Verb("get up", "gets up", "got up", "stehen", "steht", "aufgestanden", prefix="auf", auxiliary="sein",
         subjects=ANIMATE),
    Verb("arrive", "arrives", "arrived", "kommen", "kommt", "angekommen", prefix="an", auxiliary="sein",
         subjects=ANIMATE, complements=("in",)),
)  # fmt: skip

# Verbs with a clause as object: The man knows that ... / Der Mann weiß, dass ...
CLAUSE_VERBS = (
    Verb("know", "knows", "known", "wissen", "weiß", "gewusst", german_first="weiß"),
    Verb("believe", "believes", "believed", "glauben", "glaubt", "geglaubt"),
    Verb("say", "says", "said", "sagen", "sagt", "gesagt"),
    Verb("hope", "hopes", "hoped", "hoffen", "hofft", "gehofft"),
)

# English subject and object; German nominative, accusative and dative.
PRONOUNS = {
    "I": ("me", "ich", "mich", "mir"),
    "he": ("him", "er", "ihn", "ihm"),
    "she": ("her", "sie", "sie", "ihr"),
    "we": ("us", "wir", "uns", "uns"),
    "they": ("them", "sie", "sie", "ihnen"),
}

# The preposition's German, the case it asks for, and the kinds of noun after it.
PREPOSITIONS = {
    "in": ("in", "dative", ("place",)),
    "with": ("mit", "dative", ANIMATE),
    "for": ("für", "accusative", ("person",)),
}

# Adverbials of time: German, and the tenses they go with (TENSES in clauses.py).
TIMES = {
    "today": ("heute", ("present", "perfect", "can", "must", "want", "will")),
    "tomorrow": ("morgen", ("can", "must", "want", "will")),
    "every day": ("jeden Tag", ("present", "can", "must", "want")),
    "in the evening": ("am Abend", ("present", "can", "must", "want", "will")),
}
