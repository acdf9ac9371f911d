"""An intent classifier with the interface of a Rasa component.

Rasa calls ``train``, ``process``, ``persist`` and ``load``; messages are objects with
``get`` and ``set``. An open text becomes the intent "nlu_fallback", which Rasa's own
FallbackClassifier also gives, so that rules for it apply.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional

import ringfence

FALLBACK = "nlu_fallback"


class RingfenceIntentClassifier:
    def __init__(self, config: Dict[str, Any], model: Optional[ringfence.Model] = None) -> None:
        self.config = config
        self.model = model

    def train(self, training_data: Any) -> None:
        rows = [(e.get("text"), e.get("intent")) for e in training_data.intent_examples]
        texts, labels = zip(*rows)
        self.model = ringfence.train(texts, labels, **self.config)

    def process(self, messages: List[Any]) -> List[Any]:
        assert self.model is not None, "train or load comes first"
        answers = self.model.classify([m.get("text") or "" for m in messages], top=10)
        for message, answer in zip(messages, answers):
            name = FALLBACK if answer.open else answer.label
            ranking = [{"name": r.label, "confidence": r.probability} for r in answer.ranking]
            if answer.open:
                ranking.insert(0, {"name": FALLBACK, "confidence": answer.confidence})
            message.set("intent", {"name": name, "confidence": answer.confidence})
            message.set("intent_ranking", ranking)
        return messages

    def persist(self, directory: str) -> None:
        assert self.model is not None, "nothing to keep before train"
        self.model.save(Path(directory) / "intents.rf")

    @classmethod
    def load(cls, config: Dict[str, Any], directory: str) -> "RingfenceIntentClassifier":
        return cls(config, ringfence.load(Path(directory) / "intents.rf"))
