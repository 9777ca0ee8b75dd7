#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace orch::test {

// An unused port below the range of ephemeral ports: otherwise a test that runs at the same time
// could get the same port before it is used.
inline int free_port() {
  std::random_device random;
  for (int i = 0; i < 1000; ++i) {
    const auto port = static_cast<in_port_t>(20000 + random() % 10000);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (is_free) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace orch::test
