"""The built-in rules that are Python classes."""

from __future__ import annotations

from graphdbg.rules.rule import Rule

from .class_imbalance import ClassImbalance
from .confusion import Confusion
from .feature_importance import FeatureImportanceOverweight
from .first_non_finite import FirstNonFinite
from .input_images import CheckInputImages
from .overfit import Overfit
from .overtraining import Overtraining
from .similar_runs import SimilarAcrossRuns
from .stalled_training import StalledTraining
from .token_ratio import NlpSequenceRatio

PYTHON_BUILT_INS: dict[str, type[Rule]] = {
    rule.id: rule
    for rule in (
        Overfit,
        Overtraining,
        SimilarAcrossRuns,
        StalledTraining,
        ClassImbalance,
        Confusion,
        CheckInputImages,
        NlpSequenceRatio,
        FirstNonFinite,
        FeatureImportanceOverweight,
    )
}

__all__ = ["PYTHON_BUILT_INS"]
