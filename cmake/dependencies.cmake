# Dependencies of everything. Trainers are built where little is installed: there fmt is the one
# inside LibTorch, header-only.
find_package(nlohmann_json QUIET)
find_package(fmt QUIET)
# A single header. If no package has it, it is fetched; without a network, copy it and set its
# folder.
find_path(XXHASH_FOLDER xxhash.h DOC "The folder of xxHash's header xxhash.h")
if(XXHASH_FOLDER)
  set(xxhash_SOURCE_DIR ${XXHASH_FOLDER})
else()
  message(STATUS "xxhash.h: not found (package libxxhash-dev), fetching it; offline: -DXXHASH_FOLDER=<its folder>")
  include(FetchContent)
  FetchContent_Declare(xxhash GIT_REPOSITORY https://github.com/Cyan4973/xxHash.git GIT_TAG v0.8.2)
  FetchContent_MakeAvailable(xxhash)
endif()
add_library(xxhash INTERFACE IMPORTED)
target_include_directories(xxhash SYSTEM INTERFACE ${xxhash_SOURCE_DIR})
target_compile_definitions(xxhash INTERFACE XXH_INLINE_ALL)
if(NOT ORCH_CORE)
  add_compile_definitions(FMT_HEADER_ONLY=1)
  if(NOT TARGET fmt::fmt)
    add_library(fmt::fmt INTERFACE IMPORTED)
    find_package(Python3 COMPONENTS Interpreter)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import torch; print(torch.__path__[0])"
                    OUTPUT_VARIABLE torch_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    target_include_directories(fmt::fmt SYSTEM INTERFACE ${torch_folder}/include)
  endif()
  if(NOT TARGET nlohmann_json::nlohmann_json)
    add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  endif()
  return()
endif()

# Dependencies of the core: Debian's packages, and sol2, which is fetched if no package has it.
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED COMPONENTS filesystem)  # with its headers: Math, Process
find_package(PkgConfig REQUIRED)
pkg_search_module(LUA REQUIRED IMPORTED_TARGET lua5.4 lua-5.4 lua)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)

find_package(sol2 QUIET)
if(NOT TARGET sol2::sol2)
  message(STATUS "sol2: no package, fetching it")
  include(FetchContent)
  FetchContent_Declare(sol2 GIT_REPOSITORY https://github.com/ThePhD/sol2.git GIT_TAG v3.5.0)
  FetchContent_MakeAvailable(sol2)
endif()

# yaml-cpp before 0.8 exports a target without a namespace.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
