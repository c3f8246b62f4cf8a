"""Messages on their way: each receiver gets all of its own in order, at least once; what it did not get is counted, never just lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from analyzers.watching.state import MOST_WAITING, Message, Receiver, State

AT_ONCE = 20
"""Messages in one delivery: Slack takes 50 blocks, and each is up to two."""
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 600.0
_MOST_DOUBLINGS = 30


def put(state: State, receivers: Iterable[str], messages: Sequence[Message]) -> None:
    """Add `messages` for each of `receivers`; where there is no room the oldest are dropped, and counted."""
    for name in receivers:
        to = state.receivers.setdefault(name, Receiver())
        to.waiting += messages
        over = len(to.waiting) - MOST_WAITING
        if over > 0:
            del to.waiting[:over]
            to.dropped += over


def leave(state: State, receivers: Iterable[str]) -> int:
    """Forget those that are none of `receivers`; how many messages that drops."""
    gone = state.receivers.keys() - set(receivers)
    return sum(len(each.waiting) + each.dropped for each in map(state.receivers.pop, gone))


def due(to: Receiver, now: float) -> list[Message]:
    """What may be delivered now."""
    return to.waiting[:AT_ONCE] if to.not_before is None or now >= to.not_before else []


def delivered(to: Receiver, messages: Sequence[Message], dropped: int) -> None:
    """The receiver has `messages`, and knows how many had been `dropped` when they were sent; more may have been since, also of these."""
    got = {message.id for message in messages}
    left = [message for message in to.waiting if message.id not in got]
    lost_and_got = len(got) - (len(to.waiting) - len(left))
    to.waiting = left
    to.failures, to.not_before, to.dropped = 0, None, max(to.dropped - dropped - lost_and_got, 0)


def failed(to: Receiver, now: float, draw: Callable[[], float], at_least: float = 0.0) -> float:
    """A delivery failed; the seconds until the next attempt. `draw` gives numbers from 0 to 1; `at_least`: what the receiver asked for."""
    to.failures += 1
    seconds = max(pause(to.failures, draw), min(at_least, LONGEST_PAUSE_SECONDS * 6))
    to.not_before = now + seconds
    return seconds


def pause(failures: int, draw: Callable[[], float], first: float = FIRST_PAUSE_SECONDS, longest: float = LONGEST_PAUSE_SECONDS) -> float:
    """Seconds after so many failures in a row: doubled each time, up to the longest; half of it is drawn, so that many watches that
    failed together do not come back together."""
    whole = min(longest, first * 2.0 ** min(max(failures - 1, 0), _MOST_DOUBLINGS))
    return whole * (0.5 + 0.5 * draw())
