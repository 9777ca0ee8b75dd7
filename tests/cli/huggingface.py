"""Hugging Face folders and checkpoints, read and written with nothing but struct and json.

  huggingface.py make FOLDER gpt2|bloom F32|BF16 [nested|flat|split]   a small model, every element its own
  huggingface.py checkpoint FOLDER gpt2|bloom      the checkpoint holds exactly that model
  huggingface.py same FOLDER FOLDER                all tensors are equal to the bit
"""
import glob
import json
import os
import struct
import sys

LAYERS, HIDDEN, HEADS, VOCAB, SEQ = 2, 8, 2, 11, 5
HEAD_DIM = HIDDEN // HEADS


def read_file(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    ends = 0
    for tensor in sorted(header.values(), key=lambda tensor: tensor["data_offsets"]):
        assert tensor["data_offsets"][0] == ends, "a gap"
        ends = tensor["data_offsets"][1]
    assert ends == len(data), "bytes after the last tensor"
    tensors = {
        name: (tensor["dtype"], tensor["shape"], data[slice(*tensor["data_offsets"])])
        for name, tensor in header.items()
    }
    return tensors, metadata


def read_folder(folder):
    tensors = {}
    for path in sorted(glob.glob(folder + "/*.safetensors")):
        tensors.update(read_file(path)[0])
    return tensors


def write_file(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def shapes(kind):
    """Names and shapes as transformers has them."""
    h = HIDDEN
    if kind == "gpt2":
        out = {"wte.weight": [VOCAB, h], "wpe.weight": [SEQ, h]}
        parts = {"ln_1": [h], "attn.c_attn": [h, 3 * h], "attn.c_proj": [h, h], "ln_2": [h],
                 "mlp.c_fc": [h, 4 * h], "mlp.c_proj": [4 * h, h]}
    else:
        out = {"word_embeddings.weight": [VOCAB, h], "word_embeddings_layernorm.weight": [h],
               "word_embeddings_layernorm.bias": [h]}
        parts = {"input_layernorm": [h], "self_attention.query_key_value": [3 * h, h],
                 "self_attention.dense": [h, h], "post_attention_layernorm": [h],
                 "mlp.dense_h_to_4h": [4 * h, h], "mlp.dense_4h_to_h": [h, 4 * h]}
    for layer in range(LAYERS):
        for part, shape in parts.items():
            out[f"h.{layer}.{part}.weight"] = shape
            bias = shape[-1] if kind == "gpt2" else shape[0]
            out[f"h.{layer}.{part}.bias"] = [bias]
    out["ln_f.weight"] = out["ln_f.bias"] = [h]
    return out


def count(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def value(place, index):
    """A multiple of 1/4 between -16 and 16: exact in bf16."""
    return ((place * 31 + index) % 128) / 4 - 16


def make(folder, kind, dtype, form="nested"):
    os.makedirs(folder)
    prefix = "" if form == "flat" else "transformer."
    tensors = {}
    for place, (name, shape) in enumerate(shapes(kind).items()):
        values = [value(place, i) for i in range(count(shape))]
        data = struct.pack(f"<{len(values)}f", *values)
        if dtype == "BF16":  # the upper halves of floats: exact
            data = b"".join(data[i + 2 : i + 4] for i in range(0, len(data), 4))
        tensors[prefix + name] = (dtype, shape, data)
    if kind == "gpt2":  # buffers that old versions stored too
        tensors[prefix + "h.0.attn.bias"] = ("U8", [1, 1, SEQ, SEQ], b"\1" * SEQ * SEQ)
        tensors["lm_head.weight"] = tensors[prefix + "wte.weight"]
    config = {"model_type": kind, "vocab_size": VOCAB, "n_layer": LAYERS, "n_head": HEADS}
    config.update({"n_embd": HIDDEN, "n_positions": SEQ} if kind == "gpt2" else {"n_embed": HIDDEN, "seq_length": SEQ})
    json.dump(config, open(folder + "/config.json", "w"))
    if form != "split":
        write_file(folder + "/model.safetensors", tensors)
        return
    names = list(tensors)
    files = {"model-00001-of-00002.safetensors": names[: len(names) // 2],
             "model-00002-of-00002.safetensors": names[len(names) // 2 :]}
    for file, some in files.items():
        write_file(f"{folder}/{file}", {name: tensors[name] for name in some})
    weight_map = {name: file for file, some in files.items() for name in some}
    json.dump({"weight_map": weight_map}, open(folder + "/model.safetensors.index.json", "w"))


OURS = {
    "gpt2": {"wte": "word_embedding", "wpe": "position_embedding", "ln_f": "final_norm", "ln_1": "norm1",
             "attn.c_attn": "attention.qkv", "attn.c_proj": "attention.out", "ln_2": "norm2",
             "mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"},
    "bloom": {"word_embeddings": "word_embedding", "word_embeddings_layernorm": "embedding_norm",
              "ln_f": "final_norm", "input_layernorm": "norm1", "self_attention.query_key_value": "attention.qkv",
              "self_attention.dense": "attention.out", "post_attention_layernorm": "norm2",
              "mlp.dense_h_to_4h": "mlp.up", "mlp.dense_4h_to_h": "mlp.down"},
}


def our_name(kind, name):
    stem, ending = name.rsplit(".", 1)
    layer = ""
    if stem.startswith("h."):
        _, number, stem = stem.split(".", 2)
        layer = f"layers.{number}."
    return f"weights/{layer}{OURS[kind][stem]}.{ending}"


def their_index(kind, name, shape, row, column):
    """Where element [row][column] of our tensor is in theirs."""
    if kind == "gpt2" and "c_attn" in name:
        head, rest = divmod(row, 3 * HEAD_DIM)
        part, within = divmod(rest, HEAD_DIM)
        row = part * HIDDEN + head * HEAD_DIM + within
    matrix = len(shape) == 2 and not name.startswith("w")
    if kind == "gpt2" and matrix:
        return column * shape[1] + row
    return row * (shape[1] if len(shape) == 2 else 1) + column


def checkpoint(folder, kind):
    found = {}
    for path in glob.glob(folder + "/step-00000000/rank-*.safetensors"):
        found.update(read_file(path)[0])
    for place, (name, shape) in enumerate(shapes(kind).items()):
        dtype, our_shape, data = found.pop(our_name(kind, name))
        assert dtype == "F32"
        values = struct.unpack(f"<{len(data) // 4}f", data)
        rows, columns = our_shape if len(our_shape) == 2 else (our_shape[0], 1)
        assert rows * columns == count(shape), name
        for row in range(rows):
            for column in range(columns):
                theirs = value(place, their_index(kind, name, shape, row, column))
                assert values[row * columns + column] == theirs, (name, row, column)
    assert not found, found.keys()


def same(first, second):
    def plain(folder):
        kept = {}
        for name, tensor in read_folder(folder).items():
            if not name.endswith(".attn.bias") and name != "lm_head.weight":
                kept[name.removeprefix("transformer.")] = tensor
        return kept

    assert plain(first) == plain(second)


if __name__ == "__main__":
    {"make": make, "checkpoint": checkpoint, "same": same}[sys.argv[1]](*sys.argv[2:])
