# orch::torch: LibTorch with c10d, using Gloo (cpu) or NCCL (cuda).
if(NOT ORCH_TORCH STREQUAL "cpu" AND NOT ORCH_TORCH STREQUAL "cuda")
  message(FATAL_ERROR "ORCH_TORCH is '${ORCH_TORCH}': it can be empty, cpu or cuda")
endif()

# The Python wheel contains its CMake files. It lacks the headers of Gloo, which are needed for the
# CPU.
if(ORCH_TORCH STREQUAL "cuda" AND NOT CMAKE_PREFIX_PATH AND NOT Torch_DIR)
  find_program(ORCH_PYTHON python3)
  if(ORCH_PYTHON)
    execute_process(COMMAND ${ORCH_PYTHON} -c "import torch; print(torch.utils.cmake_prefix_path)"
                    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(prefix)
      list(APPEND CMAKE_PREFIX_PATH ${prefix})
    endif()
  endif()
endif()
if(ORCH_TORCH STREQUAL "cuda")
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc supports it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  if(NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST} AND NOT TORCH_CUDA_ARCH_LIST)
    set(TORCH_CUDA_ARCH_LIST "8.0;9.0")
  endif()
endif()
find_package(Torch REQUIRED)

add_library(orch_torch INTERFACE)
add_library(orch::torch ALIAS orch_torch)
# libstdc++ must come before LibTorch among the libraries of a program: those of PyTorch's wheel
# export parts of an older one (std::filesystem), and a program that binds to both crashes. Given by
# path: where -lstdc++ means the static library, which comes last, the linker would take these parts
# from LibTorch. The test `cuda: symbols` checks the result.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so.6
                OUTPUT_VARIABLE libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT IS_ABSOLUTE "${libstdcxx}")
  find_library(ORCH_LIBSTDCXX NAMES libstdc++.so.6 REQUIRED)
  set(libstdcxx ${ORCH_LIBSTDCXX})
endif()
target_link_options(orch_torch INTERFACE
                    "SHELL:-Wl,--push-state,--no-as-needed ${libstdcxx} -Wl,--pop-state")
target_link_libraries(orch_torch INTERFACE ${TORCH_LIBRARIES})
# Without OpenMP at::parallel_for, which is in a header, uses one thread.
find_package(OpenMP REQUIRED COMPONENTS CXX)
target_link_libraries(orch_torch INTERFACE OpenMP::OpenMP_CXX)
target_include_directories(orch_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
if(ORCH_TORCH STREQUAL "cuda")
  find_package(CUDAToolkit REQUIRED)
  target_compile_definitions(orch_torch INTERFACE ORCH_CUDA=1 USE_C10D_NCCL=1)
  target_link_libraries(orch_torch INTERFACE CUDA::cudart CUDA::cublas CUDA::cublasLt)
else()
  target_compile_definitions(orch_torch INTERFACE USE_C10D_GLOO=1)
  # LibTorch does the computation; code that calls it compiles twice as fast this way, trainers and
  # tests with one precompiled header. Our own loops are optimised in their folders.
  orch_dev_level(orch_torch INTERFACE Og)
endif()
