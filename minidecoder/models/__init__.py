"""Language models: toys with known logits, SmolLM2 offline, any causal model of `transformers`.

`import minidecoder.models` needs NumPy alone; torch and transformers are imported when a model is made.
"""

from minidecoder.models.batched import BatchedLM
from minidecoder.models.causal_lm import CausalLM
from minidecoder.models.ngram import NGramModel
from minidecoder.models.smollm2 import load_smollm2
from minidecoder.models.tiny_bpe import load_tiny_bpe
from minidecoder.models.toy import TableModel, UniformModel

__all__ = [
    "BatchedLM",
    "CausalLM",
    "NGramModel",
    "TableModel",
    "UniformModel",
    "load_smollm2",
    "load_tiny_bpe",
]
