"""The configuration file: reading, validation and what it sets.

`load` reads a YAML or JSON file, or a hook configuration of SageMaker Debugger. It
is used by the command line and, for programs that are not started by
`graphdbg run`, inside the training process (`job`). The valid keys are those of
config.schema.json.
"""

from ._load import INTENTIONAL_INFINITIES, Configuration, ConfigurationError, Watchpoint, load
from ._problem import Problem
from ._schema import schema_text

__all__ = [
    "INTENTIONAL_INFINITIES",
    "Configuration",
    "ConfigurationError",
    "Problem",
    "Watchpoint",
    "load",
    "schema_text",
]
