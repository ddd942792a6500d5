"""Words that say nothing about what a text is about."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below between both
    but by can cannot could couldn did didn do does doesn doing don down during each either else ever few for from further
    get got had hadn has hasn have haven having he hence her here hers herself him himself his how however i if in into is
    isn it its itself just let like ll may me might more most must mustn my myself nor no not now of off on once one only or
    other otherwise our ours ourselves out over own per quite rather re s same shall shan she should shouldn since so some
    such t than that the their theirs them themselves then there therefore these they this those though through thus to too
    under until up upon us use used using ve very via was wasn we were weren what when where whether which while who whom
    whose why will with within without won would wouldn yet you your yours yourself yourselves
    """.split()  # noqa: SIM905  (a list of this length is read more easily as text)
)

CHINESE = frozenset(
    """
    我们 你们 他们 她们 它们 自己 这个 那个 这些 那些 这里 那里 这样 那样 什么 怎么 怎样 如何 为什么 哪个 哪些 因为 所以 但是 而且
    或者 以及 如果 虽然 然而 不过 并且 于是 因此 可以 可能 应该 需要 能够 就是 还是 只是 都是 也是 不是 没有 已经 正在 一个 一些
    一种 一样 一下 一般 之后 之前 其中 其他 其它 关于 对于 由于 通过 进行 使用 以下 以上 非常 比较 更加 十分 时候 有些 有的 各种 各个
    等等 例如 比如 其实 然后 同时 此外 另外 除了 只有 只要 无论 不同 而是 不能 不会 不要 这种 那种 每个 任何 所有 很多 许多 一定
    """.split()  # noqa: SIM905
)

JAPANESE = frozenset(
    "場合 以下 以上 時 事 物 方 為 様 中 上 下 前 後 間 内 外 等 的 一つ 必要 可能 使用 利用".split()  # noqa: SIM905
)

KOREAN = frozenset(
    "그리고 그러나 하지만 그래서 또는 또한 이것 그것 저것 우리 그들 있다 없다 하다 되다 있는 없는 하는 되는 합니다 입니다 "
    "있습니다 됩니다 위해 대한 대해 통해 따라 때문 경우 매우 모든 어떤 같은".split()  # noqa: SIM905
)
