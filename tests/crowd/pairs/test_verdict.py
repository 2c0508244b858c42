"""What votes on pairs found."""

from hutch.crowd.pairs.verdict import sentences


def rows(*ends, groups=()):
    found = [dict(zip(("player", "strength", "low", "high"), each, strict=True)) for each in ends]
    return [row | {"group": group} for row, group in zip(found, groups, strict=True)] if groups else found


A, B, C = ("a", 1.4, 1.1, 1.7), ("b", 0.5, 0.2, 0.8), ("c", -1.9, -2.2, -1.6)


def test_the_strongest_is_named_where_its_interval_is_apart():
    assert sentences(rows(A, B, C), 1200) == (
        "a is the strongest of 3 players, by 1,200 votes, surely ahead of all others.",
    )
    close = ("b", 1.0, 0.7, 1.3)
    assert sentences(rows(A, close, C), 1200) == (
        "a is the strongest of 3 players, by 1,200 votes; b may be as strong.",
    )


def test_nobody_is_named_where_all_intervals_overlap():
    (sentence,) = sentences(rows(("a", 0.4, -0.1, 0.9), ("b", 0.1, -0.4, 0.6)), 12)
    assert sentence == "Cannot tell which of 2 players is the strongest: their intervals overlap."


def test_groups_that_were_never_compared_are_not_ranked():
    first, second = sentences(rows(A, B, C, groups=(1, 1, 2)), 40)
    assert first == "a is the strongest of 2 players that were compared, by 40 votes, surely ahead of all others."
    assert second.startswith("2 groups of players were never compared with each other")
    alone = sentences(rows(A, B, groups=(1, 2)), 40)
    assert alone[0] == "Cannot tell who is strongest, because no two players were compared."


def test_no_votes():
    assert sentences([], 0) == ("There are no votes.",)


def test_a_player_on_one_side_only_is_told():
    first, second = sentences(rows(A, B, C), 40, ["b"])
    assert first.startswith("a is the strongest")
    assert second.startswith("b always stood on the same side, so that strength and a preference for that side")


def test_votes_for_one_side_alone_are_told():
    assert sentences(rows(A, B, C), 40, [], "left")[1] == (
        "All votes went to the left: it counts as where winners are written, not as a preference."
    )
    assert "strength and a preference for that side look alike" in sentences(rows(A, B, C), 40, [], "left", True)[1]


def test_players_that_never_come_twice_are_texts():
    (sentence,) = sentences(rows(A, B, C, ("d", 0, -1, 1)), 2)
    assert sentence.startswith("No player comes twice, as texts or ids would not: name the columns")
