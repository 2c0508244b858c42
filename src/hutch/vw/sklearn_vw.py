"""The name that VW's module `sklearn` had before VW 9."""

from hutch.vw.sklearn import VW as VW
from hutch.vw.sklearn import VWClassifier as VWClassifier
from hutch.vw.sklearn import VWMultiClassifier as VWMultiClassifier
from hutch.vw.sklearn import VWRegressor as VWRegressor
from hutch.vw.sklearn import tovw as tovw
