"""What the kernels of a search see: one record, and how a task asks for the next part of a label."""

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import UNLABELED, call, example_of, float32s_at, state_of, uint32s_at
from hutch.core.kernel.decision import decision_of, values_of
from hutch.core.kernel.decorators import helper, inlined

TEST, ROLL_IN, ROLL_OUT = range(3)
"""Phases: predict the block; go through it once more while learning; from there, try each action of one step."""

POLICY, ORACLE, MIX_PER_STATE, MIX_PER_ROLL, NONE = range(5)
"""Who decides: what was learned; the labels; one of them, drawn for each step or for each run; nobody."""

SEARCH = np.dtype(
    [
        ("task", "u8"),  # address of the kernel that goes through a block and asks for its parts
        ("own", "u8"),  # address of the task's own record; 0 without one
        ("choose", "u8"),  # address of the kernel that answers
        ("make", "u8"),  # address of the kernel that makes the features of a step in `making`; 0: a step shows a line
        ("multiply", "u8"),  # address of the kernel that adds products to the features shown; 0: there are none
        ("actions", "u8"),  # that there are, from 1 on
        ("learners", "u8"),  # sub-models of a policy, without those of `folds`
        ("folds", "u8"),  # 1: every policy is three, of which two test what the other learned
        ("rollin", "u8"),
        ("rollout", "u8"),
        ("caches", "u8"),  # 1: predictions are remembered within a block
        ("in_order", "u8"),  # 1: steps are learned in their order
        ("most_steps", "u8"),  # losses after which a run that tries an action ends; 0: none
        ("history", "u8"),
        ("conditions", "u8"),  # 1: features are made of the actions that the task names
        ("hamming", "u8"),  # 1: the loss counts wrong actions; else the task declares it
        ("priced", "u8"),  # 1: the task says the cost of each action in place of right ones
        ("misnames", "u8"),  # 1: VW's names of actions, see `stuck`
        ("bias_length", "u8"),
        ("product_length", "u8"),
        ("neighbours", "u8"),  # address of int64[neighbour_count]: distance · 2^24 + letter
        ("neighbour_names", "u8"),  # address of uint32[neighbour_count]: ids of the namespaces
        ("neighbour_count", "u8"),
        ("alpha", "f4"),
        ("value", "f4"),  # of features made of actions
        ("subsample", "f4"),
        ("perturbation", "f4"),
        ("condition_space", "u4"),  # ids of namespaces made here
        ("neighbour_space", "u4"),
        # learned
        ("policy", "i8"),  # that learns next
        ("passes", "i8"),  # for which it has
        ("generated", "u8"),  # examples so far
        ("read", "u8"),  # lines so far, with those that end blocks and passes
        ("stuck", "u8"),  # bits of the actions that the last step learned named, for steps that name none
        # of a batch
        ("newest", "i8"),  # policy that learns, or that predicts
        # of a block
        ("phase", "u8"),
        ("learning", "u8"),  # 1 if the block is learned
        ("count", "u8"),  # lines
        ("built", "u8"),  # BUFFER of ACTION[count]: lines with features of their neighbours
        ("beside", "u8"),  # BUFFER of their features
        ("shown", "u8"),  # BUFFER of the features of one line with those made of actions
        ("making", "u8"),  # address of the BUFFER where `make` puts features: `made` or `kept`
        ("made", "u8"),  # BUFFER of the features of a step
        ("kept", "u8"),  # BUFFER of those of the step to learn
        ("memo", "u8"),  # BUFFER of remembered predictions
        ("memo_heads", "u8"),  # address of uint32[MEMO_HEADS]
        ("memo_size", "u8"),  # of the words in use
        ("trajectory", "u8"),  # BUFFER of uint32: actions of the run that rolled in
        ("order", "u8"),  # BUFFER of int64: steps to learn
        # of a run
        ("step", "u8"),
        ("declared", "u8"),  # losses
        ("features", "u8"),
        ("test_loss", "f4"),
        ("roll_loss", "f4"),
        ("beta", "f4"),
        ("run_policy", "i8"),  # of MIX_PER_ROLL; -2 while it is not drawn
        ("tagged", "u8"),  # BUFFER of uint32: the action of each tag
        ("tags", "u8"),  # that have one, tag 0 included
        ("learn_at", "u8"),  # step to learn
        ("tried", "u8"),  # actions of it
        ("done", "u8"),  # 1: all were
        # what the task asks
        ("line", "u8"),
        ("tag", "u8"),  # of this action, for those that are conditioned on it; 0: none
        ("learner", "u8"),
        ("peeks", "u8"),  # 1: VW draws the policy of a run before this step, to see whether features are needed
        ("oracles", "u8"),  # address of uint32[room]: right actions
        ("oracle_count", "u8"),
        ("allowed", "u8"),  # address of uint32[room]: actions that there are here; none: all
        ("allowed_count", "u8"),
        ("prices", "u8"),  # address of float32[room]: their costs, of all actions if none is named
        ("on_tags", "u8"),  # address of uint32[room]: tags of the actions to condition on
        ("on_names", "u8"),  # address of uint32[room]: and what each of them is here, a byte
        ("on_count", "u8"),
        ("on_actions", "u8"),  # address of uint32[room]: these actions
        ("room", "u8"),
        # what the step to learn asked, and what its actions cost
        ("learn_line", "u8"),
        ("learn_learner", "u8"),
        ("learn_names", "u8"),
        ("learn_actions", "u8"),
        ("learn_count", "u8"),
        ("learn_allowed", "u8"),
        ("learn_allowed_count", "u8"),
        ("costs", "u8"),  # address of float32[room]
        ("roll_losses", "u8"),  # address of float32[room]: of each action tried
        ("listed", "u8"),  # address of uint32[room]: classes of a label for the layer below
        ("unknown", "u8"),  # address of float32[room]: costs that are not known
    ]
)
"""State of a search; addresses of arrays of `room` entries are of memory of the layer."""

search_of = state_of(SEARCH)


@inlined
def ask(layer, example, offset):
    """The action for what the fields of SEARCH ask."""
    return int64(call(search_of(layer).choose, layer, example, UNLABELED, np.float32(1), offset))


@inlined
def classes_of_lines(example):
    """The class of each line of the block, uint32[count]; 0 where it is not known."""
    decision = decision_of(example)
    return uint32s_at(decision.classes, decision.count)


@inlined
def set_oracle(s, action):
    """Let one action be right."""
    uint32s_at(s.oracles, s.room)[0] = uint32(action)
    s.oracle_count = uint64(1)


@inlined
def allow(s, action):
    """Add an action to those that there are."""
    uint32s_at(s.allowed, s.room)[s.allowed_count] = uint32(action)
    s.allowed_count += uint64(1)


@inlined
def condition_on(s, tag, name):
    """Condition on the action with a tag; `name`, a byte, says what it is here."""
    uint32s_at(s.on_tags, s.room)[s.on_count] = uint32(tag)
    uint32s_at(s.on_names, s.room)[s.on_count] = uint32(name)
    s.on_count += uint64(1)


@helper
def condition_on_range(s, last, count, name):
    """Condition on so many actions from the tag `last` downwards, each with the next name."""
    for i in range(count):
        if uint64(i) > uint64(last):
            break
        condition_on(s, uint64(last) - uint64(i), uint64(name) + uint64(i))


@inlined
def declare(s, loss):
    """Add to the loss of this run."""
    s.declared += uint64(1)
    if s.phase == uint64(TEST):
        s.test_loss += np.float32(loss)
    elif s.phase == uint64(ROLL_OUT) and (s.most_steps == uint64(0) or s.declared <= s.most_steps):
        s.roll_loss += np.float32(loss)


@inlined
def put(s, example, line, action):
    """Predict an action for a line."""
    if s.phase == uint64(TEST):
        values_of(decision_of(example))[line] = np.float32(action)


@inlined
def arrays_of_label(s):
    """Room for the label of the layer below: classes and costs."""
    return uint32s_at(s.listed, s.room), float32s_at(s.costs, s.room)


@inlined
def label_below(example, classes, costs, count):
    """Give the example a label of costs by class, by addresses."""
    e = example_of(example)
    e.cost_classes, e.costs, e.cost_count = classes, costs, uint64(count)
