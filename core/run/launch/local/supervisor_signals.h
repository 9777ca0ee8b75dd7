#pragma once

#include "core/base/descriptor.h"

namespace orch::launch {

// The signals of a supervisor, as events on a descriptor instead of interruptions.
class SupervisorSignals {
 public:
  SupervisorSignals();  // blocks them for the whole process

  int descriptor() const { return file_.get(); }
  void read();                  // records the signals that have arrived
  void wait(int milliseconds);  // waits for the next one, then reads
  bool terminated() const { return terminated_; }
  bool take_stop();  // true if USR1 arrived since the last call

 private:
  Descriptor file_;
  bool terminated_ = false;
  bool stop_ = false;
};

}  // namespace orch::launch
