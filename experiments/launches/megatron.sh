# Megatron-LM: 70 layers of 14336 on 384 GPUs.
export CUDA_DEVICE_MAX_CONNECTIONS=1
python -u pretrain_gpt.py --use-mcore-models --transformer-impl transformer_engine \
  --tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 --use-distributed-optimizer \
  --num-layers 70 --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 --max-position-embeddings 2048 \
  --micro-batch-size 2 --global-batch-size 2048 --train-iters 50 --bf16 --recompute-granularity full \
  --recompute-method uniform --recompute-num-layers 1 --lr 6e-5 --min-lr 6e-6 --lr-decay-style cosine \
  --lr-warmup-iters 10 --lr-decay-iters 50 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 --adam-eps 1e-8 \
  --clip-grad 1.0 --hidden-dropout 0 --attention-dropout 0 --init-method-std 0.02 --seed 1234 \
  --tokenizer-type NullTokenizer --vocab-size 250880 --mock-data --split 949,50,1 \
  --distributed-backend nccl --log-interval 1 --log-throughput --eval-iters 0 --no-load-rng
