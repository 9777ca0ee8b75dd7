#pragma once

#include "core/base/counter_random.h"

namespace orch::train {

using counter_random::bits;
using counter_random::combine;
using counter_random::key_of;
using counter_random::mix;
using counter_random::uniform;

}  // namespace orch::train
