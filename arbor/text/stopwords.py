"""Words that say nothing about what a text is about."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn did didn do does doesn doing don down
    during each either else ever few for from further get got had hadn has hasn have haven having he
    hence her here hers herself him himself his how however i if in into is isn it its itself just
    let like ll may me might more most must mustn my myself no nor not now of off on once one only or
    other otherwise our ours ourselves out over own per quite rather re s same shall shan she should
    shouldn since so some such t than that the their theirs them themselves then there therefore
    these they this those though through thus to too under until up upon us use used using ve very
    via was wasn we were weren what when where whether which while who whom whose why will with
    within without won would wouldn yet you your yours yourself yourselves
    """.split()  # noqa: SIM905
)

CHINESE = frozenset(
    """
    一下 一个 一些 一定 一样 一种 一般 不会 不同 不是 不能 不要 不过 为什么 之前 之后 也是 于是 什么
    他们 以上 以下 以及 任何 但是 你们 使用 例如 关于 其中 其他 其它 其实 十分 另外 只是 只有 只要
    可以 可能 各个 各种 同时 哪个 哪些 因为 因此 她们 如何 如果 它们 对于 就是 已经 并且 应该 很多
    怎么 怎样 我们 或者 所以 所有 无论 时候 更加 有些 有的 正在 此外 每个 比如 比较 没有 然后 然而
    由于 等等 而且 而是 能够 自己 虽然 许多 还是 这个 这些 这样 这种 这里 进行 通过 那个 那些 那样
    那种 那里 都是 除了 需要 非常
    一個 一樣 一種 不會 不過 為什麼 為甚麼 什麼 甚麼 他們 你們 關於 其實 因為 她們 它們 對於 應該
    已經 並且 怎麼 怎樣 我們 無論 時候 還是 這個 這些 這樣 這種 這裡 這裏 進行 通過 那個 那樣 那種
    那裡 那裏 雖然 許多 沒有 然後 由於 於是 能夠 比較 每個 各個 各種 哪個 同時 之後
    """.split()  # noqa: SIM905
)

JAPANESE = frozenset(
    """
    一つ 上 下 中 事 以上 以下 使用 内 利用 前 可能 場合 外 後 必要 方 時 様 為 物 的 等 間
    参照下 御覧下 注意下 確認下
    """.split()  # noqa: SIM905
)

KOREAN = frozenset(
    """
    가장 같은 경우 그것 그들 그래서 그러나 그리고 대한 대해 되는 되다 됩니다 따라 때문 또는 또한 매우 모든
    어떤 없는 없다 우리 위해 이것 입니다 있는 있다 있습니다 저것 통해 하는 하다 하지만 합니다
    것은 것을 것이 것입니다 까지 다른 다음 대해서 때는 때에 모두 보다 부터 없음 에게 에는 에도 에만 에서 으로
    있고 있으며 있음 처럼
    """.split()  # noqa: SIM905
)
