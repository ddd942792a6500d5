"""A guess at the language of a text, good enough for the `lang:` filter: script first, then common words.

A filter that misses half of the notes is worse than none, so a short note or one that begins with badges and links
is decided by what there is: a single common word where no other language has as many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arbor.lazy import lazy_pattern

BEGINNING_CHARS = 500
SAMPLE_CHARS = 2000

_SCRIPTS = (
    ("ja", lazy_pattern("[\u3040-\u30ff]")),
    ("ko", lazy_pattern("[\uac00-\ud7af]")),
    ("zh", lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ru", lazy_pattern("[\u0400-\u04ff]")),
    ("ar", lazy_pattern("[\u0600-\u06ff]")),
    ("he", lazy_pattern("[\u0590-\u05ff]")),
    ("el", lazy_pattern("[\u0370-\u03ff]")),
    ("hi", lazy_pattern("[\u0900-\u097f]")),
    ("th", lazy_pattern("[\u0e00-\u0e7f]")),
)
_LATIN = lazy_pattern("[A-Za-z\u00c0-\u024f]")
# Words that are frequent in one language and rare in most of the others; one that two share speaks for both.
_WORDS = """
en the and of is that with for this are you be from a an in to on it as at by was were not have has had how what when
en where which who can will would we they my your his her its their there here or if but about into some do does i
de der die das und ist nicht ein eine einen einem zu zum zur mit auf für den dem des von werden im in ich wir es sich
de auch wie man war habe hat sind bei aus nach über kein keine nur noch gibt er sie am an als oder wird
fr le la les des est une un dans pour que vous avec sur pas et de du au aux il elle nous je ne ce cette qui sont par
fr plus à en se son ses ou mais où si ces être leur sans entre tout fait peut lorsque même sous
es el la los las una un por con para del es como más y de que en se no su al lo cómo está son hoy sobre sin muy ya
es a o si este esta pero cuando ser puede sus entre desde también donde hay fue ha todo todos hasta fin sea
it il la che di per una un sono con della del dei delle gli nel nella sul sulla non è e i ha in come ho si da al lo le
pt o a os as um uma não com para que dos das do da de em no na se são mais é por ao está como foi e ou pode ser seu sua
pt quando este esta pelo pela mas nos nas já sem há você sobre também todos até
nl het een van en niet voor op zijn met dat wordt ook de is in je we wij ik naar geen te hoe over bij heeft
"""
_OTHER_WORDS = """
ca el la els les de del i que per a en una un amb no es és al com més o si aquest aquesta són pot ser però també molt
ca dels les seva quan sense fins ha
gl o a os as de do da e que en un unha para por con non se é máis no na como dos das ao pode ten seu súa
sv och att det som en på är av för med den till inte om ett har jag kan från eller så vid när var i ska där här detta
sv denna inga vara alla också bara utan du används
da og at det som en på er af for med den til ikke om et har jeg kan fra eller så ved når var i skal der her dette denne
da være hvis blive også kun uden du bruges alle efter
no og at det som en på er av for med den til ikke om et har jeg kan fra eller så ved når var i skal der her dette denne
no være hvis bli også bare uten du brukes alle etter
fi ja on ei se että tai kun jos ovat mutta niin kuin sen ole oli myös voi joka tämä sitä tämän vain mukaan sekä jotka
fi olla tätä jonka kaikki käyttää ilman
cs a v na se je s z o do že k i pro to za ve jako po od nebo by jsou ale které který podle tak při může být není pokud
cs tento jen aby pouze
sk a v na sa je s z o do že k aj pre to za vo ako po od alebo by sú ale ktoré ktorý podľa tak pri môže byť nie ak tento
sk len aby iba
pl w i na z do się nie że jest to o jak po od za dla oraz przez są lub może być który jeśli aby tym które tylko także
pl czy przy ten
hu a az és hogy nem is egy van meg ez ha csak de el vagy mint már ki még azt volt kell lehet minden után között nincs
hu majd ezt
ro și şi în de la cu o un pe că este nu sau din pentru care se al a mai ca fi sunt dacă prin ale acest această poate fie
hr i u je na se za da su od s o kao ne ili koji koje će bi iz samo može ako po biti što nije koja
sl in je v na se za da so od s z kot ne ali ki bo pa po lahko če to tudi ni biti iz pri ter samo
tr ve bir bu için ile da olarak veya daha çok olan gibi değil ise kadar ne var her sonra ama bunu olur
et ja on ei et see kui või ka mis oma ning seda selle siis mida oli kas ole saab
lt ir yra kad į iš su o tai kaip ar bet nuo po už jis tik arba gali būti ši šis jei
lv un ir ka ar no uz par vai kas tas lai bet pēc šis tiek nav var kā pie jā ja
vi và của là có cho không được các một trong những với người này để đã khi từ
id dan yang di untuk dengan ini dari itu dalam tidak pada adalah akan atau ke dapat oleh juga bisa ada
sq dhe në e të që për me një nga është si nuk ka do mund
eo la de kaj en estas al por ne kun ke el mi vi ĉi tiu sed aŭ
"""
"""Of languages that win only where they have more words than each of those above, with which they share many."""


def _read_words(rows: str) -> dict[str, frozenset[str]]:
    common: dict[str, frozenset[str]] = {}
    for code, *words in map(str.split, rows.strip().splitlines()):
        common[code] = common.get(code, frozenset()).union(words)
    return common


_COMMON = _read_words(_WORDS)
_OTHERS = _read_words(_OTHER_WORDS)
_ALL_COMMON = frozenset().union(*_COMMON.values(), *_OTHERS.values())
_ENGLISH = _COMMON["en"]
_BUT_ENGLISH = frozenset().union(
    *(words for code, words in (*_COMMON.items(), *_OTHERS.items()) if code != "en")
)
_CYRILLIC = (
    ("uk", lazy_pattern("[іїєґ]")),
    ("be", lazy_pattern("ў")),
    ("mk", lazy_pattern(r"[ѓќѕ]|\b(?:во|со)\b")),
    ("sr", lazy_pattern(r"[ћђ]|\bу\b")),
    ("ј", lazy_pattern("[јљњџ]")),
    ("ru", lazy_pattern("[ыэё]")),
    ("bg", lazy_pattern("ъ")),
)
"""What others of the languages written in Cyrillic do not have, or what comes far more often in one; `ј` and its
like are Serbian and Macedonian."""
_CYRILLIC_SHARE, _HARD_SIGN_SHARE = 0.01, 0.006
_AROUND_WORDS = ".,;:!?()[]{}<>\"'*_`#|-\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
_CODE = lazy_pattern(r"[a-z]{2,3}(-[a-z0-9]+)*")
_NON_ASCII = lazy_pattern(r"[^\x00-\x7f]")
_KANA_SHARE, _SCRIPT_SHARE, _COMMON_MIN = 0.05, 0.2, 3
# A short text may have a single common word; one this much longer that has no more is a list or a program.
_TOKENS_FOR_ONE = 40


def common_words(code: str) -> frozenset[str]:
    """Words that hold the sentences of a language together and say nothing by themselves; none of one not known."""
    return _COMMON.get(code) or _OTHERS.get(code, frozenset())


def declared_language(front_matter: Mapping[str, Any]) -> str:
    """The primary code of `lang` or `language` in front matter (`zh` of `zh-CN`); "" where there is none."""
    for key in ("lang", "language"):
        value = front_matter.get(key)
        if isinstance(value, str):
            code = value.strip().lower().replace("_", "-")
            if _CODE.fullmatch(code):
                return code.split("-")[0]
    return ""


def guess_language(text: str) -> str:
    """An ISO 639 code, or "" where the text gives too little to go by.

    Args:
        text: The beginning of a document; at most `SAMPLE_CHARS` characters of it are looked at, and the first
            `BEGINNING_CHARS` of them are enough where they tell.
    """
    beginning = text[:BEGINNING_CHARS]
    by_script = _guess_by_script(beginning) or _guess_by_script(text[:SAMPLE_CHARS])
    if by_script:
        return by_script
    found = _by_common_words(_tokens(beginning), _COMMON_MIN)
    if found:
        return found
    tokens = [token.strip(_AROUND_WORDS) for token in _tokens(text[:SAMPLE_CHARS])]
    return _by_common_words(tokens, min(_COMMON_MIN, 1 + len(tokens) // _TOKENS_FOR_ONE))


def _tokens(text: str) -> list[str]:
    """Words in small letters, those of `l'eau` and `dell'acqua` by themselves."""
    return text.lower().replace("'", " ").replace("\u2019", " ").split()


def _by_common_words(tokens: list[str], least: int) -> str:
    """The one language that most of the common words among these are of, where it has at least so many of them."""
    words = _ALL_COMMON.intersection(tokens)
    if len(words) < least:
        return ""
    english = len(words & _ENGLISH)
    if english >= least and english > len(words & _BUT_ENGLISH):
        return "en"  # no other has as many: mostly so, and quick to see
    ranked = sorted((len(words & common), code) for code, common in _COMMON.items())
    (second, _), (count, best) = ranked[-2:]
    others = sorted((len(words & common), code) for code, common in _OTHERS.items())
    (next_other, _), (other_count, other) = others[-2:]
    if other_count > count:
        # Single letters are names of variables, too.
        longer = sum(len(word) > 1 for word in words & _OTHERS[other])
        return other if longer >= max(least, _COMMON_MIN) and other_count > next_other else ""
    return best if count >= least and count > second else ""


def _guess_cyrillic(sample: str, letters: int) -> str:
    """The language by its own letters; Russian, the most written of them, where there are none."""
    text = sample.lower()
    counts = {code: len(pattern.findall(text)) for code, pattern in _CYRILLIC}
    if counts["be"] and counts["uk"] and counts["ru"]:  # Belarusian has the others' і and ы
        return "be"
    if counts["ј"] >= _CYRILLIC_SHARE * letters:
        return "mk" if counts["mk"] > counts["sr"] else "sr"
    for code in ("be", "mk", "sr", "ј"):
        del counts[code]
    if counts["bg"] > counts["ru"] and counts["bg"] >= _HARD_SIGN_SHARE * letters:
        return "bg"
    best = max(counts, key=lambda code: counts[code])
    return best if best != "bg" and counts[best] >= _CYRILLIC_SHARE * letters else "ru"


def _guess_by_script(sample: str) -> str:
    """The script that a fifth of the letters are in; a little kana makes Han text Japanese."""
    if sample.isascii() or len(_NON_ASCII.findall(sample)) <= _SCRIPT_SHARE / 3 * len(sample):
        return ""
    counts = {code: len(pattern.findall(sample)) for code, pattern in _SCRIPTS}
    letters = sum(counts.values()) + len(_LATIN.findall(sample)) / 3  # a word of Han is about a third as long
    if counts["ja"] and counts["ja"] >= _KANA_SHARE * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts["zh"]
        counts["zh"] = 0
    best = max(counts, key=lambda code: counts[code])
    if counts[best] <= _SCRIPT_SHARE * letters:
        return ""
    return _guess_cyrillic(sample, counts[best]) if best == "ru" else best
