#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace orch::ingest {

// How a file is compressed, and what unpacks it.
struct Packing {
  std::string_view bytes;    // that it begins with
  std::string_view program;  // is given -dc; "": it is not compressed
  std::string_view by_hand;  // what gives its text to a pipe
};

// By its first bytes. An open file stays at its beginning.
Packing packing_of(std::string_view beginning);
Packing packing_of(int file);

// A program that unpacks a file. It ends with the object, read to its end or not.
class Unpacker {
 public:
  Unpacker(const Packing& packing, const std::string& file);

  int output() const;
  // Waits for the end: an error where not all of it was sound, or there is no such program.
  Status finish();

 private:
  struct Close {
    void operator()(FILE* pipe) const { ::pclose(pipe); }
  };
  std::string program_;
  std::unique_ptr<FILE, Close> pipe_;
};

}  // namespace orch::ingest
