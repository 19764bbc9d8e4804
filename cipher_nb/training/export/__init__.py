"""From peft's adapter folder to the GGUF file that llama.cpp loads."""

from cipher_nb.training.export.export import Exported, export_adapter
from cipher_nb.training.export.script import Converter

__all__ = ["Converter", "Exported", "export_adapter"]
