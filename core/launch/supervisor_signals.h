#pragma once

namespace orch::launch {

// The signals that a supervisor lives by, as events on a descriptor instead of interruptions.
class SupervisorSignals {
 public:
  SupervisorSignals();  // blocks them for the whole process
  ~SupervisorSignals();
  SupervisorSignals(const SupervisorSignals&) = delete;
  SupervisorSignals& operator=(const SupervisorSignals&) = delete;

  int descriptor() const { return fd_; }
  void read();                  // notes what has come
  void wait(int milliseconds);  // for the next one, then reads
  bool terminated() const { return terminated_; }
  bool take_stop();  // whether USR1 came since the last call

 private:
  int fd_ = -1;
  bool terminated_ = false;
  bool stop_ = false;
};

}  // namespace orch::launch
