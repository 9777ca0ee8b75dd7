#include "core/plan/families/families.h"

namespace orch::plan {

const Family& llama_family() {
  static const Family kFamily{"llama",
                              "Llama 2 and 3, Mistral, Qwen 2 and 3: rotary positions, RMS norms, "
                              "SwiGLU, grouped-query attention",
                              {said(Field::layers),
                               said(Field::hidden),
                               said(Field::heads),
                               said(Field::vocab),
                               said(Field::seq),
                               follows(Field::kv_heads, all_heads),
                               follows(Field::head_dim, divided_heads),
                               follows(Field::ffn_hidden, gated_width),
                               always(Field::rms_norm),
                               always(Field::swiglu),
                               always(Field::rope),
                               usual(Field::qkv_bias, false),
                               usual(Field::qk_norm, false),
                               usual(Field::tied, false),
                               usual(Field::norm_epsilon, 1e-5),
                               usual(Field::rope_theta, 10'000.0),
                               usual(Field::rope_factor, 1.0),
                               usual(Field::rope_low, 1.0),
                               usual(Field::rope_high, 4.0),
                               usual(Field::rope_original, std::int64_t{8192})}};
  return kFamily;
}

}  // namespace orch::plan
