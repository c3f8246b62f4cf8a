"""Failures that no signature describes: names, words and frames → system, kind, phase, cause; no product's message is known here."""

from __future__ import annotations

from analyzers.inference.advice import advice_of
from analyzers.inference.decisive import decisive, decisive_in
from analyzers.inference.infer import Inference, infer, infer_chain

__all__ = ["Inference", "advice_of", "decisive", "decisive_in", "infer", "infer_chain"]
