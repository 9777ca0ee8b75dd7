# Options that make a build fast and its result slower, or dependent on the machine: they belong to the
# preset dev (ORCH_DEV) and are never used for users' builds. There the functions below do nothing.
#   orch_dev_level(TARGET SCOPE LEVEL)   compiles TARGET at this level (Og, O2) where a release has -O2
#   orch_headers(TARGET LEVEL)           the same, with a precompiled header of common includes
#   orch_headers_owner(NAME HEADERS…)    a target that makes a precompiled header, for others to reuse
#   orch_reuse_headers(TARGET OWNER)     lets a target reuse it
#
# A precompiled header serves only sources with its own flags (g++ 12 crashes on another level of
# optimisation), so there is one per level. It excludes JSON, whose deferred templates would cost each
# source half a second, whether it uses JSON or not.
# A source must still include what it uses: the release build finds missing includes.

function(orch_dev_level target scope level)
  if(ORCH_DEV)
    target_compile_options(${target} ${scope} $<$<CONFIG:Release>:-${level}>)
  endif()
endfunction()

if(NOT ORCH_DEV)
  function(orch_headers)
  endfunction()
  function(orch_reuse_headers)
  endfunction()
  return()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # It needs this sloppiness to cache sources that use a precompiled header, and finds what they include
  # in the compiler's list of dependencies, without a run of the preprocessor.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  CCACHE_DEPEND=1 ${CCACHE})
endif()

# g++ collects garbage each time its heap has grown by 128 MiB: a tenth of a build's time. If each
# of Ninja's jobs has 3 GiB (a unit of ours takes 1, one with LibTorch 1.5), this limit is raised.
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
if(EXISTS /sys/fs/cgroup/memory.max)  # a container may have a lower limit
  file(READ /sys/fs/cgroup/memory.max limit)
  if(limit MATCHES "^[0-9]+")
    math(EXPR limit "${CMAKE_MATCH_0} / 1048576")
    if(limit LESS memory)
      set(memory ${limit})
    endif()
  endif()
endif()
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_of_a_job "${memory} / (${cores} + 2)")
if(memory_of_a_job GREATER 3000)
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=300;--param=ggc-min-heapsize=500000>")
endif()

# GNU's default linker takes a second for a program with LibTorch, these two a tenth of it.
include(CheckLinkerFlag)
foreach(linker lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} ORCH_LINKER_${linker})
  if(ORCH_LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

# A folder is compiled as one source, because templates that its sources share are then instantiated
# once. Names in unnamed namespaces must not clash within a folder, or for tests within a top-level
# folder.
option(CMAKE_UNITY_BUILD "Compile several sources as one" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)

set(orch_common_headers <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <filesystem> <fstream>
                        <functional> <map> <memory> <optional> <set> <span> <sstream> <string>
                        <string_view> <utility> <variant> <vector> <fmt/format.h>)

function(orch_headers_owner name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/dev.cpp)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  target_link_libraries(${name} PRIVATE orch::warnings)
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
endfunction()

function(orch_reuse_headers target owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()

function(orch_headers target level)
  orch_dev_level(${target} PRIVATE ${level})
  if(NOT ORCH_CORE)
    return()
  endif()
  set(owner orch_headers_${level})
  if(NOT TARGET ${owner})
    orch_headers_owner(${owner} ${orch_common_headers})
    target_link_libraries(${owner} PRIVATE fmt::fmt)
    orch_dev_level(${owner} PRIVATE ${level})
  endif()
  orch_reuse_headers(${target} ${owner})
  # Only fmt's compile definitions: targets that use fmt link it.
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()
