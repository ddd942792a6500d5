"""How often the encoding of a few characters is told: what was found wrong, and words that nothing was tuned on.

The words are looked at in every position that they can have in a file, since what stands around them decides too.
Held-out words are there to measure, so what is asked of them is a share and not each one. When they were first looked
at, in every position: cp1252 100 %, GB18030 100 %, Shift-JIS 97.1 %, EUC-JP 91.5 % (`docs/design/encodings.md`).
"""

from __future__ import annotations

import pytest

from arbor.text.encodings import decode_passage, detect_encoding

ENGLISH = "The quick brown fox jumps over the lazy dog. "
POSITIONS = {
    "alone": "{}",
    "a line": "{}\n",
    "in a sentence": "We saw {} there.\n",
    "in a note": "# Notes\n\nUse the following command to build.\n\n- item {}\n\nAnd some more after it.\n",
    "after a page": ENGLISH * 40 + "{} " + ENGLISH * 40,
    "after 84 KB": ENGLISH * 1900 + "\n{}\n" + ENGLISH,
}

FOUND_WRONG = {
    "cp1252": [
        "20 °C", "20°C", "£10", "£ 10", "§ 3", "§3", "µm", "5 µm", "3 × 4", "3×4", "·", "¥100", "¢50", "¶ 2", "10³",
        "Nº 5", "1ª", "¡Hola!", "Å", "À la carte", "æøå", "Ø", "±5", "½ cup", "© 2020", "“quoted”", "it’s", "em—dash",
    ],
    "gb18030": ["世界", "测试", "苹果", "错误", "知识库", "版本", "编译器", "作者：张三", "变量名", "饕餮"],
    "shift_jis": ["漢字", "ｱｲｳｴｵ", "日本語", "設定", "ファイル", "変数", "表", "日本", "株式会社", "田中"],
    "euc_jp": ["漢字", "設定", "変数", "日本語", "関数", "エラー", "東京", "注意", "こんにちは"],
    "euc_kr": ["한국어", "설정", "파일", "오류", "서울", "변수", "김철수"],
}  # fmt: skip

WESTERN_WORDS = (
    "-40 °F|£3.50|€12|¥980|© Contoso|®|µg|±1|6 × 9|cm²|dm³|Nº 7|4ª|¿Por qué?|¡Gracias!|Café Müller|Zoë|"
    "Renée|Dubói|Núria|Håkan|Jürgen|Käse|Grüße|Fußball|garçons|“so”|‘so’|can’t|1990–1999|no—yes|and…|§ 7|"
    "¶ 9|¼ mile|Ö|É|Ü-Bahn|crêpe|tête-à-tête|Àngel|Îles|São Luís|Brontë|Citroën|Škoda|• one|· two|"
    "«très bien»|¢5|entrée|matinée|Ölçü|Åse"
)
CHINESE_WORDS = (
    "电视|冰箱|洗衣机|空调|沙发|厨房|卧室|阳台|花园|邻居|警察|律师|工程师|作家|画家|厨师|"
    "司机|农民|士兵|演员|足球|篮球|乒乓球|羽毛球|冠军|比赛|奖牌|剧本|导演|歌词|钢琴|吉他|"
    "小提琴|数据源|中间件|微服务|容器|镜像|集群|负载均衡|防火墙|加密|解密|签名|证书|令牌|"
    "权限|角色|租户|账单|库存|订单|物流|客服|退款|优惠券|会员|积分|豆腐|白菜|土豆|茄子|"
    "黄瓜|苏州|武汉|西安|重庆|台北|周杰伦|马云|红楼梦|孔子|庄子"
)
JAPANESE_WORDS = (
    "会社|電車|切符|改札|空席|予約|荷物|旅館|温泉|神社|寺院|祭り|花火|桜|紅葉|着物|相撲|"
    "野球|選手|監督|優勝|歌手|俳優|台本|舞台|楽器|演奏|指揮|美術館|絵画|彫刻|建築|住宅|"
    "家賃|駐車場|信号|交差点|高速道路|事故|救急車|消防署|警察署|計算機|記憶装置|仮想化|"
    "負荷分散|冗長化|監視|障害|復旧|履歴|差分|統合|衝突|解決|承認|却下|期限|優先度|担当者|"
    "伊藤|木村|清水|森田|仙台|神戸|りんご|みかん|バナナ|コーヒー|うどん"
)
HELD_OUT = {
    "cp1252": (0.98, WESTERN_WORDS),
    "gb18030": (0.97, CHINESE_WORDS),
    "shift_jis": (0.95, JAPANESE_WORDS),
    "euc_jp": (0.90, JAPANESE_WORDS),
}
"""Of each encoding, the share that must be told, and the words."""


def is_told(codec: str, text: str) -> bool:
    data = text.encode(codec)
    return decode_passage(data, detect_encoding(data)) == text


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize(
    ("codec", "word"), [(codec, word) for codec in FOUND_WRONG for word in FOUND_WRONG[codec]]
)
def test_what_was_found_wrong(codec: str, word: str, position: str) -> None:
    assert is_told(codec, POSITIONS[position].format(word))


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("codec", HELD_OUT)
def test_words_that_nothing_was_tuned_on(codec: str, position: str) -> None:
    floor, held_out = HELD_OUT[codec]
    words = held_out.split("|")
    missed = [word for word in words if not is_told(codec, POSITIONS[position].format(word))]
    assert len(missed) <= (1 - floor) * len(words), missed
