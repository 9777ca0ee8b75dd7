#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace orch::ingest {

// A compression format and the program that unpacks it.
struct Packing {
  std::string_view bytes;    // first bytes of such a file
  std::string_view program;  // is run with -dc; "": not compressed
  std::string_view by_hand;  // advice: a command that unpacks to a pipe
};

// The format of a file by its first bytes. The position of an open file does not change.
Packing packing_of(std::string_view beginning);
Packing packing_of(int file);

// A program that unpacks a file. The destructor ends it, even if it has more output.
class Unpacker {
 public:
  Unpacker(const Packing& packing, const std::string& file);

  int output() const;
  // Waits for the program to end. An error if the file is damaged or the program is not installed.
  Status finish();

 private:
  struct Close {
    void operator()(FILE* pipe) const { ::pclose(pipe); }
  };
  std::string program_;
  std::unique_ptr<FILE, Close> pipe_;
};

}  // namespace orch::ingest
