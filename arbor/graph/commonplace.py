"""Words of general prose: in any collection they say little about what a text is about.

A small knowledge base cannot show by counting which of its words are common in the language: in sixty notes "result"
may be as rare as "botulism". So these words start one weight class lower than they are counted (see `similarity`).
English words are given as written and are reduced by the analyzer like any text; Chinese words are dictionary words.
The lists are part of the definition of similarity: whoever changes them changes `ENGINE_ID`.
"""

from __future__ import annotations

from functools import cache

from arbor.text.analyzer import terms

_ENGLISH = """
    ability able absolute abstract accept access accompanied according account accurate achieved acquired
    across act action activity actually adaptive add addition adjusted advanced advantage affected age
    allows almost alone along already alterations alternative although always among amount analysis analyzed
    another apparently appear application applied approach appropriate approximately area around article ask
    aspect assigned associated assumed attempt attention author available avoid away back based basic basis
    become begin behaviour behind believed best better beyond big binding body book box break bring build
    built bunch call came candidate capable care carried case category cause center certain changes
    character characteristics choice class clear close color combined comes comment common compared
    comparison compatibility compete complete complex components composed comprehensive computer concept
    concerned conclude conditions conducted confirmed connection consequences considerable considered
    consistent constant construct consuming contact contains context contributions conventional copy corner
    corrected corresponding count course cover created critical current cycle damage date day deal decades
    decide decreased defined definition degree delay demonstrate dependent derived described description
    design details detected determine development diagnosed died different difficult directly discovered
    discussion display distance distinct divided division documentation done double downstream drive driven
    drop due duplicate earlier early easily edge edit editor effects efficient efforts element emphasized
    enable encountered end enhanced enough ensure enter entire environment equal equivalent error especially
    essential established evaluated even events eventually every evidence exact examined example excellent
    exception excess exchange exclude execute existing exit expanded expected experienced explain explore
    export exposed extended extent extremely face fact failed failure fairly family far fast favor features
    feel field figure finally findings fine finish first five fixes flexible flow flying focus follow form
    former found foundation four fourth free front full fully fundamental furthermore future gain general
    generated getting give given good great greater group growing growth guide half handle hard head held
    help helper high higher highest highlights historical history hit hold hope human idea identical
    identified illustrate immediately impact implementation implies important improved included increased
    independent indicate individual influence information initial inside install instead integration
    intended interaction interest interference intermediate internal interpretation introduced introduction
    inverse investigation involved issue keep key kind know knowledge known label lack language large larger
    largest last late later latter leading learned least leaving led left length less lies life likely
    limited line links listing little live location long longer look loose lose lot low lower made main
    maintain major make management manipulate manner many mark match material matter maximum means mechanism
    meeting member middle minimal minimum minor missing modern modification modified months mostly move
    movement much multi multiple name natural near necessary need negative never new newly news next node
    non none normal notably note novel number observed obtained occurs offers official often old older open
    operation optimized option order organization original others outline output outside overall overlap
    overview pair paper part partial particular pass past path pattern peak people percent performance
    period place plan play point popular positive possible post potential practical pre predicted preference
    prepared presence present preserve prevent previously primarily primary principle private pro probably
    problem procedure process produced progression project promising promotes prone properly properties
    proposed protection prove provide publish pure purpose put quality questions quick range rank rare rate
    reached read real reason received recent recognized recommended reduced ref reference regarding region
    related relationship released relevant reliable rely remains remember remove rename repeat replace
    report represent reproducible request required research resident resolved resources respectively respond
    response rest restricted results return revealed review right role round rules run safe safety said save
    schedule search second section see seems seen segment selected self sense separate serious serve service
    set several shape share short show shown side significantly similar simple simplified simply
    simultaneous single site situation six size slightly slow small smaller smart solution sometimes sort
    space span speaking special specific specify spread stable stage standard start state status step still
    store strategy strong structure study style subjects subsequent subset substantial successful sufficient
    suggest suitable summarize summary super supply support surprisingly surrounding switch system take
    taken talk target tasks technical technique tell ten tends term text things think third thought three
    throughout time tip title today together top topic total toward traditional treated triggers try turn
    twice two typical unclear underlying understanding understood unexpected unique unknown unlike unrelated
    unusual upstream uses usually utility valid value variation varied variety various verify view visual
    want way weak week well went whereas whole wide word work world worse write written years yield
"""

_CHINESE = """
    国家 发展 工作 主要 问题 地方 全国 社会 知道 起来 地区 开始 重要 成为 研究 世界 现在
    时间 情况 代表 决定 关系 生活 出来 认为 两个 作为 部分 活动 管理 方面 形成 出现 之间
    具有 人们 发现 规定 根据 影响 发生 包括 中心 要求 建立 参加 提出 我国 作用 必须 以后
    为了 之一 系统 有关 组成 基本 增长 计划 产生 时期 最后 一次 表示 当时 大家 特别 那么
    这么 东西 能力 一直 基础 还有 得到 进入 目前 过程 方法 第一 如此 过去 条件 提高 提供
    方式 下来 分别 完成 一切 最大 经过 专业 准备 增加 获得 觉得 一起 今天 表现 价值 完全
    存在 达到 内容 实行 事情 实现 甚至 任务 形式 原来 有人 突然 不断 咱们 变化 直接 可是
    不知 继续 期间 位于 执行 解决 称为 结构 一点 成立 结果 后来 水平 利用 看到 不敢 几个
    服务 当然 个人 超过 重点 原因 及其 希望 设计 相关 分布 最高 信息 重大 采用 回来 范围
    引起 实际 不仅 取得 丰富 整个 为主 了解 地位 这时 按照 控制 目标 受到 全部 规模 左右
    选择 分析 加强 不到 每年 告诉 支持 明白 处理 实施 成功 办法 随着 之中 进一步 终于 大量
    共同 下去 多少 来说 严重 接受 以来 意见 过来 保持 一条 坚持 说话 改变 先后 看见 标准
    是否 出去 今年 程度 平均 注意 机会 这次 经验 采取 喜欢 根本 领域 具体 联系 几乎 如今
    不可 感到 无法 似乎 原则 真正 目的 造成 一位 反对 相同 以前 著名 众人 建议 迅速 全面
    正是 明显 首先 集中 正式 第二 材料 帮助 行动 保证 现象 特点 现代 实际上 行为 结束 介绍
    只见 认识 积极 回答 应用 来到 设立 意义 容易 长期 一句 扩大 调整 考虑 仍然 拥有 专门
    附近 一天 结合 清楚 说明 稳定 三个 此时 很大 不少 调查 开放 重新 广泛 分为 综合 速度
    用于 作出 措施 展开 通常 方向 功能 巨大 性质 质量 一年 面前 位置 体系 越来越 逐渐 指出
    安排 却是 从而 感觉 努力 同样 状态 所谓 这位 反应 忽然 当年 找到 离开 恢复 困难 哪里
    实在 见到 某些 多年 往往 解释 因素 双方 当地 多种 经常 各地 真是 本来 两种 有效 尤其
    一边 方案 充分 从事 尽管 特殊 又称 一块 手段 便是 立即 内部 简单 一片 数量 有时 开展
    显示 属于 也许 一只 来自 还要 相信 确定 投入 一面 普通 看着 去年 促进 大型 带来 竟然
    较大 看来 若干 反映 每天 相当 变成 放在 中间 相对 不再 第一次 导致 对方 应当 讨论 即使
    证明 构成 一座 错误 曾经 强调 连续 看看 主张 真的 只能 不得 因而 肯定 一件 难道 接着
    正确 以为 处于 高度 复杂 回到 意思 总是 未来 良好 到底 最终 之下 里面 比例 适应 类型
    发挥 听说 立刻 正常 大小 明确 好像 至少 确实 特征 贡献 想到 关键 难以 周围 相互 是不是
    理解 刚才 不足 加上 适当 类似 空间 名称 只好 检查 本身 状况 需求 多次 一致 既然 高兴
    统计 体现 名字 始终 不了 最近 从此 一步 掌握 普遍 不错 相应 一旦 观点 听到 再次 更是
    突出 经历 上述 绝对 修改 优秀 至于 必要 表明 常常 遇到 在于 想起 公开 限制 现实 强烈
    很快 不好 前面 显然 有所 一部分 上面 种类 深入 效果 核心 果然 规律 显得 逐步 表面 下降
    各项 众多 一把 一名 不管 满足 随后 认真 成员 不久 持续 似的 来看 事实 习惯 一半 刚刚
    不想 距离 永远 互相 一段 变得 毕竟 快速 失败 一批 多数 那时 其余 唯一 概念 来源 降低
    充满 慢慢 符合 别的 几天 各自 自身 判断 失去 后面 配合 加以 必然 此后 改善 一带 象征
    少数 具备 否则 随即 缺乏 伟大 完整 答应 相比 最早 观念 运用 第一个 承担 面临 事物 叫做
    推出 究竟 下面 平衡 寻找 兴趣 不必 两次 奇怪 相反 估计 合理 大约 依据 停止 移动 强大
    避免 并非 模式 维持 已有 尚未 适合 及时 区别 上升 成熟 涉及 旁边 方便 有点 不在 突破
    由此 各类 一份 转化 两位 依然 大多数 规范 一番 反而 多个 算是 此次 主动 不行 损失 之上
    接近 使得 评价 规则 记录 大大 时刻 以外 给予 原始 典型 满意 到处 做法 补充 运行 优良
    目光 另一方面 防止 异常 依照 某种 恐怕 总结 有着 种种 大概 同一 至今 所说 吸引 做出 道理
    初步 相似 极为 仅仅 可惜 很少 原理 关心 等于 两者 角度 允许 大多 早就 说法 眼见 剩下
    改进 值得 真实 一会儿 日益 之所以 居然 此事 远远 打算 依靠 适用 仿佛 不得不 而已 一股
    有利于 消失 追求 再说 熟悉 趋势 用来 第二次 深刻 这般 每次 第三 原本 一套 大部分 无关
    反复 办不到 单独 分开 开头 以免 下次 上次 做到 不用 发出 经由 放入 多么 更多 最多 最少
    较多 较少 能否 随时 同一个
"""


@cache
def commonplace_terms() -> frozenset[str]:
    """The analyzer's terms for the words of general prose."""
    return frozenset(terms(_ENGLISH)) | frozenset(_CHINESE.split())
