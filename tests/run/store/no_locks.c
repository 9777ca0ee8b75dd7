// Preloaded: locks of fcntl fail as on a file system without locks. ORCH_ERRNO: the error.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

static int locks(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK
#ifdef F_OFD_SETLK
         || command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK
#endif
      ;
}

static int call(const char* name, int fd, int command, void* argument) {
  if (locks(command)) {
    errno = atoi(getenv("ORCH_ERRNO"));
    return -1;
  }
  int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
  return real(fd, command, argument);
}

#define FORWARD(name)                    \
  int name(int fd, int command, ...) {   \
    va_list rest;                        \
    va_start(rest, command);             \
    void* argument = va_arg(rest, void*); \
    va_end(rest);                        \
    return call(#name, fd, command, argument); \
  }
FORWARD(fcntl)
FORWARD(fcntl64)
