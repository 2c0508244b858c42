from hutch.chain import Chain as Chain
from hutch.core.batch import Batch as Batch
from hutch.core.errors import HutchError as HutchError
from hutch.core.hooks import hookimpl as hookimpl
from hutch.functions.benchmark import Benchmark as Benchmark
from hutch.functions.crowd import crowd as crowd
from hutch.functions.estimate import estimate as estimate
from hutch.functions.judges import judges as judges
from hutch.functions.label import label as label
from hutch.functions.preferences import preferences as preferences
from hutch.number_policy import NumberPolicy as NumberPolicy
from hutch.off_policy import evaluate as evaluate
from hutch.policy import Policy as Policy

__version__: str
