# What the core needs: Debian's packages, and sol2 fetched where no package has it.
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_search_module(LUA REQUIRED IMPORTED_TARGET lua5.4 lua-5.4 lua)

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
