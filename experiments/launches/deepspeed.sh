# run_clm.py with DeepSpeed in stage 3, its configuration written by the script.
cat <<END > ds.json
{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 16, "gradient_clipping": 1.0, "bf16": {"enabled": true},
 "zero_optimization": {"stage": 3, "overlap_comm": true, "contiguous_gradients": true, "reduce_bucket_size": 5e8, "offload_optimizer": {"device": "cpu", "pin_memory": true}}}
END
deepspeed --num_nodes 2 --num_gpus 8 run_clm.py --model_type gpt2 --config_overrides "n_layer=24,n_embd=2048,n_head=16,n_positions=2048,resid_pdrop=0,embd_pdrop=0,attn_pdrop=0" \
  --tokenizer_name gpt2 --train_file data.txt --block_size 2048 --do_train --bf16 --deepspeed ds.json \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 16 --max_steps 50 --learning_rate 3e-4 \
  --lr_scheduler_type cosine_with_min_lr --lr_scheduler_kwargs '{"min_lr": 3e-5}' --warmup_steps 10 \
  --weight_decay 0.1 --adam_beta2 0.95 --max_grad_norm 1.0 --gradient_checkpointing --logging_steps 1 \
  --save_strategy no --report_to none --output_dir out --seed 1234
