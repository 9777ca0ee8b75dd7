#pragma once

#include <sys/types.h>

#include <string_view>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace orch::ingest {

// How a file is compressed, and what unpacks it.
struct Packing {
  std::string_view name;     // "gzip"; "": it is not
  std::string_view program;  // is given -dc
};

// By the first bytes of an open file, which stays at its beginning.
Packing packing_of(int file);

// A program that unpacks an open file. It ends with the object, read to its end or not.
class Unpacker {
 public:
  static Result<Unpacker> start(const Packing& packing, int file);
  Unpacker(Unpacker&& other) noexcept;
  Unpacker& operator=(Unpacker&&) = delete;
  ~Unpacker();

  int output() const { return output_.get(); }
  // Waits for the end: whether all of it was sound.
  bool finish();

 private:
  Unpacker(pid_t child, Descriptor output) : child_(child), output_(std::move(output)) {}
  pid_t child_ = -1;
  Descriptor output_;
};

}  // namespace orch::ingest
