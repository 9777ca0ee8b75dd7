# orch_headers(TARGET LEVEL): compiles TARGET with what most sources include parsed once, and, in a
# release, at this level of optimisation (Og, O2).
#
# A precompiled header serves only sources with its own flags (g++ 12 crashes on another level of
# optimisation), so there is one per level. JSON is not in it: its deferred templates would cost each
# source half a second, whether it has JSON or not.
# A source must still include what it uses: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as in the preset
# bench, finds the one that does not.
set(orch_common_headers <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <filesystem> <fstream>
                        <functional> <map> <memory> <optional> <set> <span> <sstream> <string>
                        <string_view> <utility> <variant> <vector> <fmt/format.h>)

# orch_headers_owner(NAME HEADERS…): a target that makes a precompiled header, for others to reuse.
function(orch_headers_owner name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/headers.cpp)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  target_link_libraries(${name} PRIVATE orch::warnings)
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
endfunction()

function(orch_reuse_headers target owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()

function(orch_headers target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-${level}>)
  if(NOT ORCH_CORE)
    return()
  endif()
  set(owner orch_headers_${level})
  if(NOT TARGET ${owner})
    orch_headers_owner(${owner} ${orch_common_headers})
    target_link_libraries(${owner} PRIVATE fmt::fmt)
    target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:-${level}>)
  endif()
  orch_reuse_headers(${target} ${owner})
  # What fmt is compiled with, and no more: who uses it links it.
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()
