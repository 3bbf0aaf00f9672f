"""Language models: toys with known logits, SmolLM2 offline, any causal model of `transformers`.

`import minidecoder.models` needs NumPy alone; torch and transformers are imported when a model is made.
"""

from minidecoder.models.causal_lm import CausalLM
from minidecoder.models.smollm2 import load_smollm2
from minidecoder.models.toy import TableModel, UniformModel

__all__ = [
    "CausalLM",
    "TableModel",
    "UniformModel",
    "load_smollm2",
]
