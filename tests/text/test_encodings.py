"""Encodings: told apart on short texts, kept byte for byte, cut between characters."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.text.encodings import decode_passage, detect_encoding, split_as_encoded
from arbor.text.extraction import ChunkPolicy
from arbor.text.reading import extract

SAMPLES = {
    "simplified": [
        "今天天气很好，我们一起去公园散步吧。", "知识库是一个文件夹", "战国无双", "版本控制系统的核心数据结构",
        "请输入用户名和密码",
        "本项目使用哈希树来证明每一段文字", "他昨天去了北京", "计算机科学", "中文", "数据库",
        "# 笔记\n\n- 买菜\n- 写代码\n",
    ],
    "traditional": [
        "今天天氣很好，我們一起去公園散步吧。", "這是一個繁體中文的檔案", "請輸入使用者名稱和密碼",
        "臺灣的夜市很有名", "資料結構與演算法",
    ],
    "japanese": [
        "これは日本語のテストです。", "吾輩は猫である。名前はまだ無い。", "東京都港区",
        "プログラミング言語の比較", "データベース", "カタカナ",
        "検索エンジンの仕組み",
    ],
    "korean": ["안녕하세요. 오늘은 날씨가 좋습니다.", "한국어 텍스트 파일입니다", "대한민국",
    "데이터베이스 검색", "나는 어제 학교에 갔다"],
    "french": [
        "café", "Le garçon a mangé une pêche à la plage.", "naïve", "Où est la bibliothèque ?", "cœur à cœur",
        "“quoted” text – dash",
    ],
    "german": ["Müller", "Übung macht den Meister", "Straße", "größer als"],
    "spanish": ["El niño comió piña", "¿Qué pasa?", "mañana"],
    "russian": ["Привет, мир!", "Это тестовый файл на русском языке.", "база данных", "Москва",
    "Я люблю читать книги"],
    "polish": ["Zażółć gęślą jaźń"],
    "czech": ["Příliš žluťoučký kůň úpěl ďábelské ódy"],
    "greek": ["Καλημέρα κόσμε", "Αυτό είναι ένα αρχείο κειμένου"],
    "turkish": ["Merhaba dünya, nasılsın? İyi günler", "ağaç ışık"],
    "arabic": ["مرحبا بالعالم"],
    "thai": ["สวัสดีชาวโลก"],
}  # fmt: skip
CODECS = {
    "simplified": ["gb18030", "gbk", "utf-16"],
    "traditional": ["big5", "gb18030", "utf-16"],
    "japanese": ["shift_jis", "cp932", "euc_jp", "iso2022_jp", "utf-16"],
    "korean": ["euc_kr", "cp949", "utf-16"],
    "french": ["cp1252", "utf-16"],
    "german": ["latin_1", "cp1252"],
    "spanish": ["cp1252"],
    "russian": ["cp1251", "koi8_r", "utf-16"],
    "polish": ["cp1250"],
    "czech": ["cp1250"],
    "greek": ["cp1253"],
    "turkish": ["cp1254"],
    "arabic": ["cp1256"],
    "thai": ["cp874"],
}
CASES = [(codec, text) for language, texts in SAMPLES.items() for codec in CODECS[language] for text in texts]


@pytest.mark.parametrize("around", ["{}", "Hello world, see below:\n{}\nThe end.\n", "{0}\n" * 40])
@pytest.mark.parametrize(("codec", "text"), CASES)
def test_a_line_or_two_is_enough(codec: str, text: str, around: str) -> None:
    text = around.format(text)
    data = text.encode(codec)
    assert decode_passage(data, detect_encoding(data)) == text


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("cp1252", "Perché la città è così bella? Più tardi può venire, però non verrà."),
        ("cp1252", "São Paulo não é a capital; a informação está lá. Você também terá razões."),
        ("cp1252", "Åsa är här på ön och äter köttbullar. Rødgrød med fløde på Ærø."),
        ("cp1252", "Où êtes-vous allé ? Ça va très bien, maître François. Noël à l’hôtel, île, août."),
        ("cp1252", "für können"),
        ("cp1252", "Où est la bibliothèque ?"),
        ("cp1250", "Dnes je krásné počasí a všichni jsou šťastní."),
        ("cp1250", "Astăzi este vreme frumoasă şi toţi sunt fericiţi."),
        ("cp1252", "Það er gott veður í dag og ég fer út að ganga með þér."),
        ("cp1254", "Bugün hava çok güzel, değil mi?"),
        ("koi8_r", "не так ли, мой друг? Он уже ушёл."),
        (
            "cp1250",
            (
                "Poznámky k cestě: ráno jsme přijeli na nádraží, koupili jízdenky a čekali na zpožděný vlak. Večer "
                "byl koncert."
            ),
        ),
        (
            "cp1250",
            "Soubor se nepodařilo uložit, protože na disku není dost místa. Zkuste to prosím později znovu.",
        ),
        (
            "cp1250",
            "Súbor sa nepodarilo uložiť, pretože na disku nie je dosť miesta. Skúste to neskôr ešte raz.",
        ),
        (
            "cp1250",
            (
                "Dziś kupiłem nową książkę o historii miasta i będę ją czytać wieczorem. Pociąg spóźnił się o pół "
                "godziny."
            ),
        ),
        ("cp1250", "Nie można zapisać pliku, ponieważ na dysku brakuje miejsca."),
        (
            "cp1250",
            (
                "A fájlt nem sikerült elmenteni, mert nincs elég hely a lemezen. Próbálja meg később, vagy törölje a "
                "régi fájlokat előbb."
            ),
        ),
        (
            "cp1250",
            (
                "Datoteku nije moguće spremiti jer na disku više nema mjesta. Pokušajte ponovno sljedeći tjedan, "
                "možda će još biti prostora za čuvanje."
            ),
        ),
        ("cp1251", "Файлът не можа да бъде записан, защото на диска няма достатъчно място."),
        ("cp1255", "לא ניתן לשמור את הקובץ כי אין מספיק מקום בכונן. נסו שוב מאוחר יותר."),
        (
            "cp1252",
            (
                "Mañana compraré un libro sobre la historia de la región y lo leeré después, quizás también el "
                "sábado."
            ),
        ),
        (
            "cp1252",
            "Filen kunde inte sparas, eftersom det inte finns något utrymme kvar på disken. Försök igen senare.",
        ),
        (
            "cp1252",
            (
                "Faili ei õnnestunud salvestada, sest kettal ei ole piisavalt ruumi. Proovige hiljem uuesti, "
                "võib-olla läheb paremini."
            ),
        ),
    ],
)
@pytest.mark.parametrize("repeats", [1, 40])
def test_more_of_a_text_makes_it_no_other_language(codec: str, text: str, repeats: int) -> None:
    data = (text + "\n").encode(codec) * repeats
    assert detect_encoding(data) == codec


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "Hello world\n",
        "今天天气很好，我们一起去公园散步吧。",
        "Привет, мир!\n",
        "これは日本語のテストです。\n",
    ],
)
def test_utf16_without_a_mark(codec: str, text: str) -> None:
    assert detect_encoding(text.encode(codec)) == codec


def test_utf8() -> None:
    assert detect_encoding(b"") == "utf-8"
    assert detect_encoding("é 中文 😀".encode()) == "utf-8"
    assert detect_encoding("\ufeffwords".encode()) == "utf-8"
    assert detect_encoding(b"\x1b[31mred\x1b[0m caf\xc3\xa9") == "utf-8"


def test_utf8_with_a_few_bad_bytes_is_still_utf8() -> None:
    data = "这是一个普通的文本文件，里面有一个坏字节".encode() * 4
    assert detect_encoding(data[:50] + b"\xff" + data[50:]) == "utf-8"
    assert detect_encoding(data[:-1]) == "utf-8"
    extraction = extract(data[:50] + b"\xff" + data[50:], "a.md")
    assert b"".join(passage.data for passage in extraction.passages) == data[:50] + b"\xff" + data[50:]


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 4, b"\0" * 100, b"\x7fELF\x02\x01\x01" + b"\0" * 60, b"ab\0\x01\x02\x03" * 30],
)
def test_binary_is_no_text(data: bytes) -> None:
    assert detect_encoding(data) == ""


def test_a_stray_nul_does_not_make_a_text_binary() -> None:
    assert detect_encoding(b"a line of a log\n" * 20 + b"\0" + b"more of it\n" * 20) == "utf-8"


PLAIN_BOOK = b"plain ascii words in a book\n" * 3000


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("latin_1", "le café est fermé à minuit\n"),
        ("gb18030", "数据库管理系统\n"),
        ("shift_jis", "データベースの問い合わせ\n"),
        ("koi8_r", "это тестовый файл на русском языке\n"),
        ("iso2022_jp", "これは日本語のテストです。\n"),
    ],
)
@pytest.mark.parametrize("behind", [b"", PLAIN_BOOK * 4])
def test_text_is_judged_wherever_in_a_file_it_stands(codec: str, text: str, behind: bytes) -> None:
    data = PLAIN_BOOK + text.encode(codec) * 3 + behind
    assert data.decode(detect_encoding(data)) == PLAIN_BOOK.decode() + text * 3 + behind.decode()


@pytest.mark.parametrize("codec", ["gb18030", "utf-16-le", "utf-16-be", "euc_jp", "cp1251"])
def test_a_long_text_without_a_line_end(codec: str) -> None:
    text = {"euc_jp": "検索エンジンの仕組みを調べる。", "cp1251": "это тестовый файл, "}.get(
        codec, "数据库的查询优化。"
    )
    data = (text * 9000).encode(codec)
    assert detect_encoding(data) == codec


def test_what_is_mostly_utf8_stays_so_with_bad_bytes_anywhere() -> None:
    data = ("这是一个普通的文本文件。\n" * 5000).encode()
    assert detect_encoding(data + b"caf\xe9\n") == "utf-8"
    assert detect_encoding(b"caf\xe9\n" + data) == "utf-8"


def test_a_stray_nul_in_a_text_that_is_not_utf8() -> None:
    data = "数据库管理系统的查询优化非常重要。\n".encode("gb18030") * 90
    assert detect_encoding(data + b"\0" + data) == "gb18030"


ENCODINGS = ["utf-16-le", "utf-16-be", "gb18030", "cp932", "euc_jp", "cp949", "big5hkscs", "cp1252", "koi8_r"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_are_cut_where_their_text_is(encoding: str, data: bytes, cuts: list[int]) -> None:
    text = data.decode(encoding, "replace")
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    texts = [text[start:end] for start, end in itertools.pairwise(places)] or [""]
    pieces = split_as_encoded(data, encoding, texts)
    assert b"".join(pieces) == data
    assert len(pieces) == len(texts)


@pytest.mark.parametrize("encoding", [each for each in ENCODINGS if each != "koi8_r"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_files_are_partitioned_in_their_own_encoding(encoding: str, line_end: str) -> None:
    samples = {
        "cp932": "japanese",
        "euc_jp": "japanese",
        "cp949": "korean",
        "big5hkscs": "traditional",
        "cp1252": "french",
    }
    words = SAMPLES[samples.get(encoding, "simplified")]
    text = line_end.join(["# Title", "", *[word + line_end for word in words * 9], "[link](a.md)", ""])
    data = text.encode(encoding)
    policy = ChunkPolicy(target_bytes=120, cap_bytes=240, min_bytes=30)
    extraction = extract(data, "note.md", policy)
    assert extraction.encoding == encoding
    assert extraction.title == "Title"
    assert extraction.original == ()
    assert b"".join(passage.data for passage in extraction.passages) == data
    assert "".join(decode_passage(passage.data, encoding) for passage in extraction.passages) == text
    assert all(0 < len(passage.data) <= policy.cap_bytes for passage in extraction.passages)
    assert sum(passage.newlines for passage in extraction.passages) == text.count("\n")
    assert extraction.links[0].line == text.count("\n", 0, text.index("[link]")) + 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "gb18030"])
def test_no_encoding_goes_over_the_cap(encoding: str) -> None:
    text = ("word ƁƊƓƎ " if encoding == "gb18030" else "word " * 3) * 3000
    data = ("这是一个文本文件。\n" * 3 + text).encode(encoding)
    policy = ChunkPolicy(target_bytes=200, cap_bytes=256, min_bytes=64)
    extraction = extract(data, "a.txt", policy)
    assert b"".join(passage.data for passage in extraction.passages) == data
    assert max(len(passage.data) for passage in extraction.passages) <= policy.cap_bytes


def test_an_encoding_with_shifts_is_kept_beside_its_text() -> None:
    text = "これは日本語のテストです。\n" * 400
    data = text.encode("iso2022_jp")
    extraction = extract(data, "a.txt")
    assert b"".join(extraction.original) == data
    assert "".join(passage.data.decode() for passage in extraction.passages) == text
    assert extraction.encoding == "utf-8"


@pytest.mark.parametrize("encoding", ["", "rot13", "zlib", "unicode_escape", "no such", "utf-7", "gb18030"])
@given(data=st.binary(max_size=60))
def test_decoding_a_passage_never_fails(encoding: str, data: bytes) -> None:
    assert isinstance(decode_passage(data, encoding), str)


def test_a_mark_is_not_part_of_the_text() -> None:
    assert decode_passage("\ufeff# T".encode(), "utf-8") == "# T"
    assert decode_passage("\ufeff# T".encode("utf-16-le"), "utf-16-le") == "# T"
    data = "\ufeff# Title\n\nwords\n".encode()
    extraction = extract(data, "a.md")
    assert (extraction.title, extraction.passages[0].headings) == ("Title", ("Title",))
    assert extraction.passages[0].data == data


BESIDE = [
    ("iso8859_5", "Вчера мы долго гуляли по берегу озера, а вечером пили чай."),
    ("iso8859_5", "Вчора ми довго гуляли берегом озера, а ввечері пили чай."),
    ("koi8_u", "Її поїзд прибув із запізненням, і ґанок був порожній."),
    ("cp866", "Сборка не удалась: файл не найден, проверьте путь."),
    ("iso8859_2", "Včera jsme šli dlouho podél řeky a večer jsme pili čaj."),
    ("iso8859_2", "Wczoraj długo szliśmy brzegiem rzeki, a wieczorem piliśmy herbatę."),
    ("iso8859_7", "Άνοιξε το παράθυρο και κοίταξε τη θάλασσα."),
    ("iso8859_7", "ΕΛΛΗΝΙΚΗ ΔΗΜΟΚΡΑΤΙΑ - ΥΠΟΥΡΓΕΙΟ ΕΣΩΤΕΡΙΚΩΝ. Άρθρο πρώτο."),
    ("cp1257", "Vakar ilgai vaikščiojome ežero pakrante, o vakare gėrėme arbatą."),
    ("cp1257", "Vakar mēs ilgi gājām gar ezera krastu un vakarā dzērām tēju."),
]


@pytest.mark.parametrize(("codec", "text"), BESIDE)
def test_what_no_document_can_name_is_kept_beside_its_text(codec: str, text: str) -> None:
    data = (text + "\n").encode(codec)
    extraction = extract(data, "a.txt")
    assert decode_passage(extraction.passages[0].data, extraction.encoding) == text + "\n"
    assert (extraction.encoding, extraction.extractor) == ("utf-8", f"plain/1; charset={codec}")
    assert b"".join(extraction.original) == data
    assert extract(data, "a.txt", extractor=extraction.extractor) == extraction


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("cp1253", "ΕΛΛΗΝΙΚΗ ΔΗΜΟΚΡΑΤΙΑ - ΥΠΟΥΡΓΕΙΟ ΕΣΩΤΕΡΙΚΩΝ"),
        ("koi8_r", "РОССИЙСКАЯ ФЕДЕРАЦИЯ. МИНИСТЕРСТВО ФИНАНСОВ"),
        ("cp1250", "Můžete říct, kde je nádraží?"),
        ("cp1250", "Az őszi szünet előtt még sok a tennivaló, bőven elég időnk lesz írni."),
        ("cp1252", "Një letër që është shkruar në shtëpinë e vjetër"),
        ("cp1252", "5 m³ of water, 6 m³ of sand, 7 m³ of earth"),
        ("cp1254", "Günaydın, kapıyı açık bıraktığınız için teşekkürler"),
    ],
)
def test_letters_as_common_as_in_their_language(codec: str, text: str) -> None:
    data = text.encode(codec)
    assert decode_passage(data, detect_encoding(data)) == text


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("iso8859_2", '<?xml version="1.0" encoding="ISO-8859-2"?>\n<a>š</a>\n'),
        ("koi8_r", "# -*- coding: koi8-r -*-\n# да\n"),
        ("cp1250", "% a letter\n\\usepackage[cp1250]{inputenc}\nš\n"),
        ("iso8859_2", "\\usepackage[latin2]{inputenc}\nš\n"),
        ("cp1257", 'msgid ""\nmsgstr "Content-Type: text/plain; charset=windows-1257\\n"\nš\n'),
        (
            "gb18030",
            "A page may say charset=iso-8859-1 and be another.\n今天天气很好，我们一起去公园散步吧。\n",
        ),
    ],
)
def test_what_a_text_says_of_itself_counts_unless_the_text_is_another(codec: str, text: str) -> None:
    assert text.encode(codec).decode(detect_encoding(text.encode(codec))) == text
