"""Rules over series of observations: expressions, and Python classes.

`graphdbg rules` and `Run.check` evaluate them over recorded runs: expressions over the log by the
server's engine, or by SQL; subclasses of `Rule` observation by observation.
"""

from __future__ import annotations

from .advice import advice_for
from .catalogue import BUILT_INS, COMPOUNDS, BuiltIn
from .classes import load_file, load_files
from .definition import CompoundRule, ExpressionRule, RuleError
from .evaluation import ENGINES, RuleWarning, evaluate, refuse_unobserved, warn_of_errors
from .finding import Finding, RuleResult
from .listing import Listed, listed
from .observation import Observation
from .param import Param
from .python_rule import AnyRule, PythonRule
from .reading import built_in, read_rules, rule_of
from .rule import Needs, Rule, Select, SeriesKey

__all__ = [
    "BUILT_INS",
    "COMPOUNDS",
    "ENGINES",
    "AnyRule",
    "BuiltIn",
    "CompoundRule",
    "ExpressionRule",
    "Finding",
    "Listed",
    "Needs",
    "Observation",
    "Param",
    "PythonRule",
    "Rule",
    "RuleError",
    "RuleResult",
    "RuleWarning",
    "Select",
    "SeriesKey",
    "advice_for",
    "built_in",
    "evaluate",
    "listed",
    "load_file",
    "load_files",
    "read_rules",
    "refuse_unobserved",
    "rule_of",
    "warn_of_errors",
]
