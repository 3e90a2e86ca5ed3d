"""Rules: conditions over series of recorded observations.

`graphdbg rules` and `Run.check` evaluate them over recorded runs: over the log by the
server's engine, or by SQL.
"""

from __future__ import annotations

from .catalogue import BUILT_INS, BuiltIn
from .definition import ExpressionRule, RuleError
from .evaluation import ENGINES, evaluate, refuse_unobserved
from .finding import Finding, RuleResult
from .reading import built_in, read_rules, rule_of

__all__ = [
    "BUILT_INS",
    "ENGINES",
    "BuiltIn",
    "ExpressionRule",
    "Finding",
    "RuleError",
    "RuleResult",
    "built_in",
    "evaluate",
    "read_rules",
    "refuse_unobserved",
    "rule_of",
]
