"""What the table `[hooks]` of `arbor.toml` may say: how much each rule of a check before a commit weighs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arbor.errors import UsageError

SEVERITIES = ("off", "warn", "block")
RULES = {"verified-becomes-novel": "warn", "dangling-link": "warn"}
"""Rules and their severity where `[hooks]` says nothing."""


def parse_rules(section: Mapping[str, Any]) -> dict[str, str]:
    """Severity by rule, from the table `[hooks]`.

    Raises:
        UsageError: when a rule or a severity is unknown.
    """
    rules = dict(RULES)
    for name, severity in section.items():
        if name not in RULES:
            raise UsageError(
                f"arbor.toml: [hooks] has an unknown rule '{name}'", f"the rules are: {', '.join(RULES)}"
            )
        if severity not in SEVERITIES:
            raise UsageError(
                f"arbor.toml: [hooks] {name} is '{severity}'", f"it can be {', '.join(SEVERITIES)}"
            )
        rules[name] = severity
    return rules
