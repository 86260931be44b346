"""Kinds of pretrained models' files: a folder as `transformers` writes it, and a GGUF file."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fuzzing.kinds import Kind
from offscript.models import load_model


def pretrained_kinds(place: Path) -> dict[str, Kind]:
    """The files of a tiny GPT-2 with its tokenizer, and a tiny Llama as GGUF where gguf is installed."""
    folder = place / "hub"
    _write_hub(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    read: Callable[[Path], object] = lambda folder: load_model(str(folder))  # noqa: E731
    kinds = {
        f"hub: {name}": Kind(name, files[name], read, files, whole_folder=True, leaves_files=True)
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
    }
    kinds |= _adapters(folder, place / "adapter", files)
    gguf = place / "m.gguf"
    if write_gguf(gguf):
        kinds["GGUF"] = Kind("m.gguf", gguf.read_bytes(), lambda path: load_model(str(path)), format="binary")
    return kinds


def _write_hub(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = {"<s>": 0, "</s>": 1, "<unk>": 2, "a": 3, "b": 4}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = GPT2Config(vocab_size=8, n_positions=8, n_embd=4, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=1)
    GPT2LMHeadModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)


def _adapters(base: Path, folder: Path, files: dict[str, bytes]) -> dict[str, Kind]:
    """The files of a LoRA of that model, where peft is installed."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        return {}
    from transformers import GPT2LMHeadModel

    settings = LoraConfig(r=1, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    get_peft_model(GPT2LMHeadModel.from_pretrained(base), settings).save_pretrained(folder)
    own = {name: (folder / name).read_bytes() for name in ("adapter_config.json", "adapter_model.safetensors")}
    own["adapter_config.json"] = own["adapter_config.json"].replace(json.dumps(str(base)).encode(), b'"hub"')
    beside = {f"hub/{name}": content for name, content in files.items()}
    beside |= {f"adapter/{name}": content for name, content in own.items()}
    return {
        f"adapter: {name}": Kind(
            f"adapter/{name}",
            own[name],
            lambda folder: load_model(f"{folder / 'hub'},adapter={folder / 'adapter'}"),
            beside,
            whole_folder=True,
            leaves_files=True,
        )
        for name in own
    }


def write_gguf(path: Path) -> bool:
    """A Llama of one layer and a tokenizer of a few words; False where gguf is not installed."""
    try:
        import gguf
    except ImportError:
        return False
    writer, generator = gguf.GGUFWriter(path, "llama"), np.random.default_rng(1)
    writer.add_context_length(8)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(6)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["<s>", "</s>", "<unk>", "w", "1", "w1"])
    writer.add_token_types([3, 3, 3, 1, 1, 1])
    writer.add_token_merges(["w 1"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    shapes = {"token_embd": (6, 32), "output_norm": (32,), "output": (6, 32), "blk.0.attn_norm": (32,)}
    shapes |= {f"blk.0.attn_{part}": (32, 32) for part in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{part}": (32, 32) for part in ("gate", "up", "down")} | {"blk.0.ffn_norm": (32,)}
    for name, shape in shapes.items():
        values = generator.normal(size=shape).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", values)
        else:
            quantised = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{name}.weight", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return True
