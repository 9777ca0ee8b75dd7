#!/usr/bin/env python3
"""Holds our models against Hugging Face's transformers.

  transformers_check.py EXPORTED LOGITS.json [--tolerance 1e-4]
      loads what `orch export` wrote, and compares its logits with ours
  transformers_check.py --write FOLDER
      makes FOLDER/gpt2, bloom, llama, mistral, qwen2 and qwen3: small seeded models (config.json,
      model.safetensors) and logits.json, for machines without transformers

LOGITS.json: {"tokens": [[1, 2, …], …], "logits": [[[…vocabulary…], …one per token], …]}
Exits 77 where transformers is not installed.
"""
import argparse
import json
import os
import sys

try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# Three heads: if their number is not a power of two, ALiBi takes slopes from a second series.
LAYERS, HIDDEN, HEADS, VOCAB, SEQ = 2, 12, 3, 23, 12
SEQUENCES = 2


def logits_of(model, tokens):
    model.eval()
    with torch.no_grad():
        return model(input_ids=torch.tensor(tokens), use_cache=False).logits.float()


def compare(folder, reference, tolerance):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).float()
    with open(reference) as file:
        recorded = json.load(file)
    ours = torch.tensor(recorded["logits"], dtype=torch.float32)
    theirs = logits_of(model, recorded["tokens"])
    if ours.shape != theirs.shape:
        print(f"FAILED: our logits have shape {list(ours.shape)}, theirs {list(theirs.shape)}")
        return 1
    difference = (ours - theirs).abs().max().item()
    verdict = "ok" if difference <= tolerance else "FAILED"  # NaN fails
    print(
        f"{verdict}: {type(model).__name__}, transformers {transformers.__version__}: "
        f"{ours.numel()} logits, largest {theirs.abs().max().item():.4g}, "
        f"largest difference {difference:.3g} (allowed {tolerance:g})"
    )
    return 0 if verdict == "ok" else 1


def small_models():
    gpt2 = transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=SEQ, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=VOCAB - 1, eos_token_id=VOCAB - 1,
    )
    bloom = transformers.BloomConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, n_layer=LAYERS, n_head=HEADS, hidden_dropout=0.0,
        attention_dropout=0.0, bos_token_id=1, eos_token_id=2, pad_token_id=3, seq_length=SEQ,
    )
    yield "gpt2", transformers.GPT2LMHeadModel(gpt2)
    yield "bloom", transformers.BloomForCausalLM(bloom)
    yield from small_llamas()


def small_llamas():
    """Six heads on two of keys and values, heads wider than the model divided by them."""
    sizes = dict(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=20, num_hidden_layers=LAYERS,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=SEQ, bos_token_id=1,
        eos_token_id=2, attention_dropout=0.0,
    )
    stretched = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                     original_max_position_embeddings=8)
    try:
        llama = transformers.LlamaConfig(
            **sizes, head_dim=8, rms_norm_eps=1e-5,
            rope_parameters=dict(rope_theta=500.0, **stretched))
    except TypeError:
        llama = transformers.LlamaConfig(
            **sizes, head_dim=8, rms_norm_eps=1e-5, rope_theta=500.0, rope_scaling=stretched)
    yield "llama", transformers.LlamaForCausalLM(llama)
    mistral = transformers.MistralConfig(**sizes, head_dim=8, rms_norm_eps=1e-5, sliding_window=None)
    yield "mistral", transformers.MistralForCausalLM(mistral)
    wide = {**sizes, "hidden_size": 2 * HIDDEN}  # its heads' width is the model's over their number
    qwen2 = transformers.Qwen2Config(**wide, rms_norm_eps=1e-6, tie_word_embeddings=True)
    yield "qwen2", transformers.Qwen2ForCausalLM(qwen2)
    qwen3 = transformers.Qwen3Config(**sizes, head_dim=8, rms_norm_eps=1e-6)
    yield "qwen3", transformers.Qwen3ForCausalLM(qwen3)


def randomize(model, generator):
    """Norms and biases too: as made they are ones and zeros, and hide mistakes."""
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            is_norm = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(1 + 0.2 * noise if is_norm else 0.2 * noise)


def write(folder):
    for name, model in small_models():
        generator = torch.Generator().manual_seed(1234)
        randomize(model, generator)
        place = os.path.join(folder, name)
        model.save_pretrained(place)
        extra = os.path.join(place, "generation_config.json")
        if os.path.exists(extra):
            os.remove(extra)
        tokens = torch.randint(VOCAB, (SEQUENCES, SEQ), generator=generator).tolist()
        logits = logits_of(model, tokens).tolist()
        rounded = [[[round(value, 6) for value in row] for row in rows] for rows in logits]
        with open(os.path.join(place, "logits.json"), "w") as file:
            json.dump({"tokens": tokens, "logits": rounded}, file, separators=(",", ":"))
            file.write("\n")
        total = sum(os.path.getsize(os.path.join(place, one)) for one in os.listdir(place))
        print(f"{place}: {sorted(os.listdir(place))}, {total} bytes, transformers {transformers.__version__}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exported", nargs="?")
    parser.add_argument("logits", nargs="?")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--write", metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.write:
        return write(arguments.write)
    if not arguments.logits:
        parser.error("EXPORTED and LOGITS.json, or --write FOLDER")
    return compare(arguments.exported, arguments.logits, arguments.tolerance)


if __name__ == "__main__":
    sys.exit(main())
