"""From pairs to a served adapter on the embedded model."""

from dataclasses import replace

import pytest

from cipher_nb.config import EngineSettings, TrainingSettings
from cipher_nb.engine import swap
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.training.compat import check_adapter
from cipher_nb.training.export import export_adapter
from cipher_nb.training.qlora.tokens import load_tokenizer
from cipher_nb.training.qlora.train import load_base, train

pytestmark = [pytest.mark.slow, pytest.mark.model]

ANSWER_TOKENS = 8


@pytest.fixture(scope="module")
def trained(embedded_checkpoint, command_pairs, tmp_path_factory):
    settings = TrainingSettings(epochs=5, lr=2e-3, batch_size=4)
    out = tmp_path_factory.mktemp("trained") / "adapter"
    return train(command_pairs, checkpoint=embedded_checkpoint, settings=settings, out=out)


@pytest.fixture(scope="module")
def exported(trained, embedded_gguf, tmp_path_factory):
    return export_adapter(trained.adapter_dir, base_gguf=embedded_gguf, out_dir=tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module")
def client(exported, embedded_gguf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    spec = ServeSpec(
        model=embedded_gguf,
        alias="smollm2-135m",
        adapters=(exported.path,),
        settings=EngineSettings(slots=1),
        slot_folder=folder / "slots",
        log=folder / "engine.log",
    )
    with serving(spec) as client:
        yield client


def transformers_answers(model, tokenizer, prompts):
    import torch

    answers = []
    for messages in prompts:
        text = tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
        ids = torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]])
        with torch.no_grad():
            made = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=ANSWER_TOKENS, do_sample=False
            )
        answers.append(tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True))
    return answers


def test_the_served_adapter_answers_as_it_was_trained_to_and_the_base_does_not(client, exported, command_pairs):
    def right(adapter):
        swap.serve(client, adapter)
        replies = [client.chat(pair.messages, max_tokens=ANSWER_TOKENS) for pair in command_pairs]
        return sum(reply.text == pair.response for reply, pair in zip(replies, command_pairs, strict=True))

    assert [loaded.name for loaded in client.adapters()] == [exported.id]
    assert right(swap.BASE) == 0
    assert right(exported.id) >= 10
    assert right(swap.BASE) == 0


def test_server_and_transformers_give_the_same_answers_with_the_adapter(
    client, exported, trained, embedded_checkpoint, command_pairs
):
    from peft import PeftModel

    prompts = [pair.messages for pair in command_pairs[:6]]
    model = PeftModel.from_pretrained(load_base(embedded_checkpoint, quantised=False), trained.adapter_dir).eval()
    swap.serve(client, exported.id)
    served = [client.chat(messages, max_tokens=ANSWER_TOKENS).text for messages in prompts]
    assert transformers_answers(model, load_tokenizer(embedded_checkpoint), prompts) == served


def test_the_exported_adapter_fits_the_embedded_model(exported, embedded_gguf):
    check_adapter(exported.path, embedded_gguf)


def test_nf4_trains_the_embedded_model(embedded_checkpoint, command_pairs, tmp_path):
    settings = replace(TrainingSettings(epochs=2, lr=2e-3, batch_size=4), load_in_4bit="yes")
    result = train(command_pairs, checkpoint=embedded_checkpoint, settings=settings, out=tmp_path / "adapter")
    assert result.quantised is True
    assert result.losses[-1] < result.losses[0] / 2
