#pragma once

namespace orch {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now() const = 0;          // seconds since 1970, as this machine believes
  virtual double steady() const = 0;       // seconds since an arbitrary moment; never decreases
  virtual void sleep(double seconds) = 0;  // returns early when a signal arrives
};

class SystemClock : public Clock {
 public:
  double now() const override;
  double steady() const override;
  void sleep(double seconds) override;
};

}  // namespace orch
