# The CUDA toolkit: headers are needed for softgpu itself, nvcc for kernels and samples. tools/setup lays a view of the
# PyPI wheels into deps/cuda where the machine has no toolkit.
set(TIDEMARK_CUDA_ROOT "" CACHE PATH "Root of the CUDA toolkit (default: deps/cuda, CUDA_HOME, or where nvcc is)")
if(NOT TIDEMARK_CUDA_ROOT)
  find_program(_nvcc nvcc HINTS "${PROJECT_SOURCE_DIR}/deps/cuda/bin" ENV CUDA_HOME PATH_SUFFIXES bin)
  if(_nvcc)
    # Not REAL_PATH: in the view folder bin/nvcc is a link, and the toolkit is where the link stands.
    cmake_path(GET _nvcc PARENT_PATH _bin)
    cmake_path(GET _bin PARENT_PATH TIDEMARK_CUDA_ROOT)
  endif()
endif()
find_path(TIDEMARK_CUDA_INCLUDE cuda.h HINTS "${TIDEMARK_CUDA_ROOT}/include" NO_DEFAULT_PATH REQUIRED)
find_path(TIDEMARK_NVML_INCLUDE nvml.h HINTS "${TIDEMARK_CUDA_ROOT}/include" "${PROJECT_SOURCE_DIR}/deps/nvml/include" REQUIRED)
find_path(TIDEMARK_CUBLAS_INCLUDE cublas_v2.h HINTS "${TIDEMARK_CUDA_ROOT}/include" "${PROJECT_SOURCE_DIR}/deps/cublas/include" REQUIRED)

# System headers: the vendor's warnings are not ours to fix.
add_library(tidemark_cuda_headers INTERFACE)
target_include_directories(tidemark_cuda_headers SYSTEM INTERFACE "${TIDEMARK_CUDA_INCLUDE}")

if(NOT CMAKE_CUDA_COMPILER AND EXISTS "${TIDEMARK_CUDA_ROOT}/bin/nvcc")
  set(CMAKE_CUDA_COMPILER "${TIDEMARK_CUDA_ROOT}/bin/nvcc")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75)
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
endif()
