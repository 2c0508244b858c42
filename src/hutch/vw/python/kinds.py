"""The kinds of labels and predictions of Vowpal Wabbit's Python interface, with VW's numbers."""

from enum import IntEnum


class LabelType(IntEnum):
    """Kinds of labels; Hutch has no chain that takes `CONTINUOUS` or `MULTILABEL`."""

    SIMPLE = 1
    MULTICLASS = 2
    COST_SENSITIVE = 3
    CONTEXTUAL_BANDIT = 4
    CONDITIONAL_CONTEXTUAL_BANDIT = 6
    SLATES = 7
    CONTINUOUS = 8
    CONTEXTUAL_BANDIT_EVAL = 9
    MULTILABEL = 10


class PredictionType(IntEnum):
    """Kinds of predictions; chains make `SCALAR`, `SCALARS`, `ACTION_SCORES`, `ACTION_PROBS`, `MULTICLASS` and
    `DECISION_SCORES`."""

    SCALAR = 0
    SCALARS = 1
    ACTION_SCORES = 2
    ACTION_PROBS = 3
    MULTICLASS = 4
    MULTILABELS = 5
    PROB = 6
    MULTICLASSPROBS = 7
    DECISION_SCORES = 8
    ACTION_PDF_VALUE = 9
    PDF = 10
    ACTIVE_MULTICLASS = 11
    NOPRED = 12


class CCBLabelType(IntEnum):
    """Kinds of lines of a decision with slots."""

    SHARED = 0
    ACTION = 1
    SLOT = 2
    UNSET = 3


SlatesLabelType = CCBLabelType


class KindNames:
    """The kinds as VW's `Workspace` names them: `model.pSCALAR`, `model.lSimple`, `model.tSLOT`."""

    pSCALAR = PredictionType.SCALAR
    pSCALARS = PredictionType.SCALARS
    pACTION_SCORES = PredictionType.ACTION_SCORES
    pACTION_PROBS = PredictionType.ACTION_PROBS
    pMULTICLASS = PredictionType.MULTICLASS
    pMULTILABELS = PredictionType.MULTILABELS
    pPROB = PredictionType.PROB
    pMULTICLASSPROBS = PredictionType.MULTICLASSPROBS
    pDECISION_SCORES = PredictionType.DECISION_SCORES
    pACTION_PDF_VALUE = PredictionType.ACTION_PDF_VALUE
    pPDF = PredictionType.PDF
    pACTIVE_MULTICLASS = PredictionType.ACTIVE_MULTICLASS
    pNOPRED = PredictionType.NOPRED
    lDefault = 0
    lBinary = lSimple = LabelType.SIMPLE
    lMulticlass = LabelType.MULTICLASS
    lCostSensitive = LabelType.COST_SENSITIVE
    lContextualBandit = LabelType.CONTEXTUAL_BANDIT
    lMax = 5
    lConditionalContextualBandit = LabelType.CONDITIONAL_CONTEXTUAL_BANDIT
    lSlates = LabelType.SLATES
    lContinuous = LabelType.CONTINUOUS
    lContextualBanditEval = LabelType.CONTEXTUAL_BANDIT_EVAL
    lMultilabel = LabelType.MULTILABEL
    tSHARED = CCBLabelType.SHARED
    tACTION = CCBLabelType.ACTION
    tSLOT = CCBLabelType.SLOT
    tUNSET = CCBLabelType.UNSET
