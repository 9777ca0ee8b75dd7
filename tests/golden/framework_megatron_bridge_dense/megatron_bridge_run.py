import os
import sys

import torch
from megatron.core.transformer.enums import AttnBackend

from megatron.bridge.models.gpt_provider import GPTModelProvider
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.config import (
    CheckpointConfig,
    ConfigContainer,
    DistributedDataParallelConfig,
    DistributedInitConfig,
    MockGPTDatasetConfig,
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
    precision.grad_reduce_in_fp32 = True
    return ConfigContainer(
        model=GPTModelProvider(
            activation_func=torch.nn.functional.silu,
            add_bias_linear=False,
            apply_rope_fusion=True,
            attention_backend=AttnBackend.flash,
            attention_dropout=0,
            bias_activation_fusion=True,
            bias_dropout_fusion=True,
            context_parallel_size=2,
            cross_entropy_loss_fusion=False,
            ffn_hidden_size=14336,
            gated_linear_unit=True,
            hidden_dropout=0,
            hidden_size=4096,
            init_method_std=0.02,
            layernorm_epsilon=1e-05,
            make_vocab_size_divisible_by=128,
            masked_softmax_fusion=True,
            normalization="RMSNorm",
            num_attention_heads=32,
            num_layers=32,
            num_query_groups=8,
            pipeline_model_parallel_size=1,
            position_embedding_type="rope",
            recompute_granularity="full",
            recompute_method="uniform",
            recompute_num_layers=1,
            rope_scaling=True,
            rope_scaling_factor=8,
            rotary_base=500000,
            seq_length=8192,
            sequence_parallel=True,
            share_embeddings_and_output_weights=False,
            tensor_model_parallel_size=4,
            vocab_size=128512,
        ),
        train=TrainingConfig(
            exit_signal_handler=True,
            global_batch_size=64,
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
            overlap_grad_reduce=True,
            overlap_param_gather=True,
            use_distributed_optimizer=True,
        ),
        dist=DistributedInitConfig(
            distributed_backend="nccl",
        ),
        dataset=MockGPTDatasetConfig(
            eod_mask_loss=False,
            random_seed=1234,
            reset_attention_mask=False,
            reset_position_ids=False,
            seq_length=8192,
            split="969,30,1",
        ),
        logger=LoggerConfig(
            log_interval=1,
            log_throughput=True,
        ),
        tokenizer=TokenizerConfig(
            tokenizer_type="NullTokenizer",
            vocab_size=128256,
        ),
        checkpoint=CheckpointConfig(
            load=os.path.expandvars("$ORCH_RUN_FOLDER/checkpoints"),
            save=os.path.expandvars("$ORCH_RUN_FOLDER/checkpoints"),
            save_interval=50,
        ),
        rng=RNGConfig(
            seed=1234,
        ),
        comm_overlap=CommOverlapConfig(
            delay_wgrad_compute=False,
            overlap_grad_reduce=True,
            overlap_moe_expert_parallel_comm=False,
            overlap_param_gather=True,
            tp_comm_overlap=True,
        ),
        mixed_precision=precision,
    )


if __name__ == "__main__":
    config = recipe()
    if sys.argv[1:]:
        config = process_config_with_overrides(config, cli_overrides=sys.argv[1:])
    pretrain(config, forward_step)
