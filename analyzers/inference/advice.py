"""What a product advises in its own message: the sentences that ask for something, never those that only state the fault."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[\"'`(]?[A-Za-z])|(?<=[.!?])(?=[A-Z][a-z]+[ ,])|\n+|(?<=[a-z)])! (?=[a-z])")
_LONGEST = 600
_VERBS = (
    "add|adjust|allow|apply|ask|assign|avoid|call|change|check|choose|clean|close|configure|consider|consult|contact|convert|copy|create|decrease|define|delete|disable"
    "|downgrade|drop|enable|ensure|execute|expand|explicitly set|fix|free|give|grant|increase|inspect|install|know|lower|make sure|migrate|move|note that you|provide|raise|recreate|reconfigure"
    "|reduce|refer|register|reload|remove|rename|reopen|replace|re-?run|reset|restart|restore|retry|review|run|scale|see|select|set|specify|switch|try|turn|update|upgrade|use|verify|wait|whitelist"
)
_ASKS = re.compile(
    rf"^(?:[A-Z][\w ]{{0,20}}: )?(?:please|kindly|you (?:can|could|may|must|should|need|have to|might (?:want|need|have))|to (?:fix|avoid|resolve|solve|recover|prevent|work around|suppress|disable|enable|restore|continue|allow|handle)\b"
    rf"|(?:either )?(?:{_VERBS})\b(?! (?:of|from|is|was|has|failed|to|by|not|error|exception|timeout|timed|operation|request|response|call|cannot|could)\b|:)|consider(?: \w+ing)\b|hint: |hint\b|did you|do not|don't|if you (?:want|wish|need|would|are|have|do)|in order to|it is (?:recommended|advised|suggested|advisable)|try (?:increasing|restarting|again|setting|using)\b)",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"\b(?:please\b|you (?:can|could|must|should|need to|have to|may|might want)|should be (?:set|at|increased|decreased|reduced|configured|larger|greater|smaller|less|more|changed|upgraded|replaced|removed|a)|must be (?:set|increased|at|larger|greater|smaller|less|configured|enabled|changed|upgraded)"
    r"|needs? to be (?:set|increased|configured|enabled|changed|upgraded|restarted)|consider (?:\w+ing)\b|try (?:to (?:increase|set|use|restart|run|reduce|raise) |increasing|restarting|again|setting|using|running)|make sure\b|(?:is|are) recommended|we recommend|can be (?:changed|increased|configured|adjusted|set|raised|disabled|enabled) (?:by|with|via|through|using|in)|by (?:setting|increasing|changing|configuring|raising)\b)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    rf"[,;] (?:and |so |then )?(?P<rest>(?:please|you (?:can|must|should)|try|consider|{_VERBS}) (?!of\b|is\b|was\b|has\b|failed\b|by\b|error\b|count\b|constraint\b|id\b)[a-z][^\n]*)",
    re.IGNORECASE,
)
"""Advice behind what states the fault, in one sentence."""
_NOT_ADVICE = re.compile(
    r"[A-Z]{4,} |(?i:use of|used|using|set of|run id|call to|check constraint|update (?:statement|count|failed)|close(?:d|\(\))|add(?:ed|ing)|see (?:the )?inner|try(?:ing|_)|retry(?:ing| count| limit))\b"
)


def advice_of(message: str) -> list[str]:
    """The sentences of a message that tell what to do, in their order and whole; empty where it only states the fault."""
    found: list[str] = []
    for sentence in _SENTENCE.split(message[:8_000]):
        sentence = _whole(sentence.partition('\\"')[0].strip(" \t\"'"))
        if not 8 <= len(sentence) <= _LONGEST or _NOT_ADVICE.match(sentence):
            continue
        if (_ASKS.match(sentence) or _WITHIN.search(sentence)) and sentence not in found:
            found.append(sentence)
        elif (clause := _CLAUSE.search(sentence)) and len(clause["rest"].split()) >= 3 and clause["rest"] not in found:
            found.append(clause["rest"])
    return found


def _whole(sentence: str) -> str:
    """A sentence without a bracket that opens in it and closes in another one."""
    return sentence[: sentence.rfind("(")].rstrip(" ,;") if sentence.count("(") > sentence.count(")") else sentence
