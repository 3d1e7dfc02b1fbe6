"""What the judge of the fleet's loop lets pass, and what not."""

import pytest

from fleet_judge import Judge
from fleet_loop import KINDS, Happening
from fleet_programs import Send


def verdict(kind, began, ended, made=10.0, arrivals=(20.0, 21.0), link=1, away=None):
    """What is said of a durable send of h0 that was made and arrived then, beside a fault of these times."""
    send = Send("mixed0-0", "durable", 0)
    send.made, send.outcome = made, "done"
    send.arrivals = [{"at": at, "link": link} for at in arrivals]
    happening = Happening(kind, KINDS[kind], None, ended - began, True)
    happening.began, happening.ended = began, ended
    if away is not None:
        happening.away = away
    judge = Judge([], [], 7.5)
    judge.judge(send, [happening])
    return [fault.partition(":")[0] for fault in judge.faults]


@pytest.mark.parametrize(("began", "ended"), [
    # It was made, its host was without Redis for long, and only then it arrived for the first time.
    (10.5, 18.5),
    (19.5, 30.0),
])
def test_a_durable_send_may_come_twice_where_redis_was_away_since_it_was_made(began, ended):
    assert verdict("Redis killed", began, ended) == []


@pytest.mark.parametrize(("began", "ended"), [
    # Long over before it was made, begun behind the second arrival, and too short.
    (-2.0, 6.0),
    (21.5, 30.0),
    (12.0, 14.0),
])
def test_a_durable_send_may_not_come_twice_for_any_other_outage(began, ended):
    assert verdict("Redis killed", began, ended) == ["twice without need"]


class Answering:
    """A program that was asked these questions."""

    def __init__(self, name, *asked):
        self.name, self.asked = name, list(asked)


@pytest.mark.parametrize(("first", "second", "answers", "faults"), [
    ((1, 2), (3,), {1: [1, "h0"], 3: [3, "h1"]}, []),
    # Of two hosts, twice of one, and an answer of a host that was not asked.
    ((1,), (1,), {}, ["asked twice"]),
    ((1, 1), (), {}, ["asked twice"]),
    ((1,), (), {1: [1, "h1"]}, ["wrong answer"]),
    ((), (), {1: [1, "h0"]}, ["wrong answer"]),
])
def test_a_question_goes_to_one_host_at_most_which_answers_it(first, second, answers, faults):
    judge = Judge([], [], 7.5, [Answering("h0", *first), Answering("h1", *second)])
    judge.hear([{"at": 1.0, "link": 1, "answered": number, "by": by} for number, by in answers.items()], [])
    judge.settle([])
    assert [fault.partition(":")[0] for fault in judge.faults] == faults


def test_a_durable_send_may_come_twice_from_a_host_that_does_not_know_yet_that_redis_has_forgotten_it():
    assert verdict("Redis emptied", 7.5, 7.5, arrivals=(10.1, 10.2)) == []


@pytest.mark.parametrize(("away", "faults"), [(9.0, []), (2.0, ["twice without need"])])
def test_of_a_failover_counts_how_long_there_was_no_master_with_a_replica_and_not_when_the_old_one_followed(away, faults):
    assert verdict("Redis fails over, and its master was paused", 10.5, 22.5, away=away) == faults


@pytest.mark.parametrize(("kind", "links", "faults"), [
    ("Redis fails over, and its master lives", (1, 2, 2, 1, 1, 3), 0),
    # The one whose term was undone writes on.
    ("Redis fails over, and its master lives", (1, 2, 1, 2, 1), 1),
    ("holder without Redis", (1, 2, 1), 1),
])
def test_an_older_link_goes_on_only_where_a_failover_has_undone_the_newer_one(kind, links, faults):
    happening = Happening(kind, KINDS[kind], None, 2.0, True)
    happening.began, happening.ended = 0.0, 2.0
    judge = Judge([], [], 7.5)
    judge.owners = {1: "h0", 2: "h1", 3: "h2"}
    for at, link in enumerate(links):
        judge.look_at_link({"at": float(at), "link": link, "key": "mixed0-0"}, [happening])
    assert [fault.partition(":")[0] for fault in judge.faults] == ["two links"] * faults


@pytest.mark.parametrize(("at", "link", "faults"), [
    # The one call that a process was about to make when it was stopped, late and behind the newer link's.
    (12.05, 1, []),
    # So late that it is another one, and one that the newer link itself has in the wrong order.
    (12.2, 1, ["two links", "out of order"]),
    (12.05, 2, ["out of order"]),
])
def test_what_a_stopped_process_was_about_to_write_may_come_behind_newer_sends_of_its_program(at, link, faults):
    happening = Happening("holder paused", KINDS["holder paused"], 0, 2.0, True)
    happening.began, happening.ended = 10.0, 12.0
    judge = Judge([], [], 7.5)
    judge.owners = {1: "h0", 2: "h1"}
    judge.sends = {f"mixed2-{number}": Send(f"mixed2-{number}", "accepted", 2) for number in (5, 6)}
    judge.hear([{"at": 11.0, "link": 2, "key": "mixed2-6"}, {"at": at, "link": link, "key": "mixed2-5"}], [happening])
    assert [fault.partition(":")[0] for fault in judge.faults] == faults
