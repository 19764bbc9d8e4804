"""Tiny checkpoints as whole GGUF models that the server loads, by llama.cpp's own converter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.training.llama_cpp_script import offline, script

# The converter knows real tokenizers only, by their hash. The tokens get names in ASCII, since the server gives no
# probabilities beside a token that is no whole character; the loader looks up the line feed and, for phi3, four more.
_CONVERT = """
import json, pathlib, runpy, sys
folder, jobs = json.load(sys.stdin)
sys.path[:0] = [folder, folder + "/gguf-py"]
import conversion
found = conversion.get_model_class
def set_vocab(self):
    known = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>", "<s>", "</s>", "\\u010a"]
    names = known + [f"token{number}" for number in range(len(known), self.hparams["vocab_size"])]
    self.gguf_writer.add_tokenizer_model("gpt2")
    self.gguf_writer.add_tokenizer_pre("smollm")
    self.gguf_writer.add_token_list(names)
    self.gguf_writer.add_token_types([3] * 3 + [1] * (len(names) - 3))
    self.gguf_writer.add_token_merges(["a b"])
    self.gguf_writer.add_bos_token_id(1)
    self.gguf_writer.add_eos_token_id(2)
def with_plain_tokens(name, **options):
    model = found(name, **options)
    model.set_vocab = set_vocab
    return model
conversion.get_model_class = with_plain_tokens
for checkpoint, gguf in jobs.items():
    sys.argv = ["convert_hf_to_gguf.py", checkpoint, "--outtype", "f32", "--outfile", gguf]
    runpy.run_path(folder + "/convert_hf_to_gguf.py", run_name="__main__")
"""


def convert_models(jobs: Mapping[Path, Path]) -> None:
    """Write every checkpoint (a key) with float32 weights to its GGUF file (the value)."""
    offline(_CONVERT, [str(script().parent), {str(checkpoint): str(gguf) for checkpoint, gguf in jobs.items()}])
