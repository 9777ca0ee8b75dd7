#pragma once

#include "core/base/descriptor.h"

namespace orch::launch {

// The signals that a supervisor lives by, as events on a descriptor instead of interruptions.
class SupervisorSignals {
 public:
  SupervisorSignals();  // blocks them for the whole process

  int descriptor() const { return file_.get(); }
  void read();                  // notes what has come
  void wait(int milliseconds);  // for the next one, then reads
  bool terminated() const { return terminated_; }
  bool take_stop();  // whether USR1 came since the last call

 private:
  Descriptor file_;
  bool terminated_ = false;
  bool stop_ = false;
};

}  // namespace orch::launch
