import os
import sys
from functools import partial

import torch
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec
from megatron.core.transformer.enums import AttnBackend

from megatron.bridge.models.mla_provider import MLAModelProvider
from megatron.bridge.training.config import (
    CheckpointConfig,
    ConfigContainer,
    DistributedDataParallelConfig,
    DistributedInitConfig,
    GPTDatasetConfig,
    LoggerConfig,
    OptimizerConfig,
    RNGConfig,
    SchedulerConfig,
    TokenizerConfig,
    TrainingConfig,
    ValidationConfig,
)
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import get_mixed_precision_config
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides


def recipe():
    precision = get_mixed_precision_config("bf16_mixed")
    precision.fp8 = "hybrid"
    precision.grad_reduce_in_fp32 = True
    return ConfigContainer(
        model=MLAModelProvider(
            activation_func=torch.nn.functional.silu,
            add_bias_linear=False,
            apply_rope_fusion=False,
            attention_backend=AttnBackend.flash,
            attention_dropout=0,
            bias_activation_fusion=True,
            bias_dropout_fusion=True,
            cross_entropy_loss_fusion=True,
            expert_model_parallel_size=64,
            ffn_hidden_size=18432,
            gated_linear_unit=True,
            hidden_dropout=0,
            hidden_size=7168,
            init_method_std=0.02,
            kv_lora_rank=512,
            layernorm_epsilon=1e-05,
            make_vocab_size_divisible_by=128,
            masked_softmax_fusion=True,
            moe_ffn_hidden_size=2048,
            moe_flex_dispatcher_backend="deepep",
            moe_grouped_gemm=True,
            moe_layer_freq=[0] * 3 + [1] * 58,
            moe_router_dtype="fp32",
            moe_router_enable_expert_bias=True,
            moe_router_group_topk=4,
            moe_router_num_groups=8,
            moe_router_score_function="sigmoid",
            moe_router_topk=8,
            moe_shared_expert_intermediate_size=2048,
            moe_token_dispatcher_type="flex",
            multi_latent_attention=True,
            normalization="RMSNorm",
            num_attention_heads=128,
            num_layers=61,
            num_moe_experts=256,
            pipeline_model_parallel_layout="Et*7|t*8|t*8|t*8|t*8|t*8|t*8|t*6L",
            pipeline_model_parallel_size=8,
            position_embedding_type="rope",
            q_lora_rank=1536,
            qk_head_dim=128,
            qk_layernorm=True,
            qk_pos_emb_head_dim=64,
            recompute_granularity="selective",
            recompute_modules=["mla_up_proj", "mlp"],
            rope_type="rope",
            rotary_base=10000,
            seq_length=4096,
            share_embeddings_and_output_weights=False,
            tensor_model_parallel_size=1,
            transformer_layer_spec=partial(get_gpt_decoder_block_spec, use_transformer_engine=True),
            v_head_dim=128,
            vocab_size=129280,
        ),
        train=TrainingConfig(
            exit_signal_handler=True,
            global_batch_size=2048,
            micro_batch_size=1,
            train_iters=50,
        ),
        validation=ValidationConfig(
            eval_iters=0,
        ),
        optimizer=OptimizerConfig(
            adam_beta1=0.9,
            adam_beta2=0.95,
            adam_eps=1e-08,
            clip_grad=1,
            lr=0.0003,
            min_lr=3e-05,
            optimizer="adam",
            use_distributed_optimizer=True,
            weight_decay=0.1,
        ),
        scheduler=SchedulerConfig(
            end_weight_decay=0.1,
            lr_decay_iters=50,
            lr_decay_style="cosine",
            lr_warmup_iters=0,
            start_weight_decay=0.1,
        ),
        ddp=DistributedDataParallelConfig(
            use_distributed_optimizer=True,
        ),
        dist=DistributedInitConfig(
            distributed_backend="nccl",
        ),
        dataset=GPTDatasetConfig(
            data_path=["/data/text_document"],
            eod_mask_loss=False,
            random_seed=1234,
            reset_attention_mask=False,
            reset_position_ids=False,
            seq_length=4096,
            split="969,30,1",
        ),
        logger=LoggerConfig(
            log_interval=1,
            log_throughput=True,
        ),
        tokenizer=TokenizerConfig(
            tokenizer_type="NullTokenizer",
            vocab_size=129280,
        ),
        checkpoint=CheckpointConfig(
            load=os.path.expandvars("$ORCH_RUN_FOLDER/checkpoints"),
            save=os.path.expandvars("$ORCH_RUN_FOLDER/checkpoints"),
            save_interval=50,
        ),
        rng=RNGConfig(
            seed=1234,
        ),
        mixed_precision=precision,
    )


if __name__ == "__main__":
    config = recipe()
    if sys.argv[1:]:
        config = process_config_with_overrides(config, cli_overrides=sys.argv[1:])
    pretrain(config, forward_step)
