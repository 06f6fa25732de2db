# The CUDA toolkit: its headers are needed for softgpu itself, nvcc for kernels and samples. tools/setup makes deps/cuda
# out of pinned wheels where the machine has no toolkit, and deps/<part> for what a toolkit lacks.
set(TIDEMARK_CUDA_ROOT "" CACHE PATH
    "Root of the CUDA toolkit (default: deps/cuda, CUDA_HOME, CUDA_PATH, nvcc on the PATH, /usr/local/cuda)")
option(TIDEMARK_NVCC "Compile kernels and samples with the toolkit's nvcc, if it has one" ON)
set(TIDEMARK_CUDA_MINIMUM 13000)

# CUDA_VERSION from a toolkit's header: 13000 is 13.0; 0 where there is none.
function(tidemark_cuda_version root out)
  set(version 0)
  if(EXISTS "${root}/include/cuda.h")
    file(STRINGS "${root}/include/cuda.h" line REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+" version "${line}")
  endif()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# The first place that holds a recent toolkit, looked up anew at each configure so that no stale answer is kept.
function(tidemark_find_cuda out)
  set(places "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}")
  # Set-up writes this mark last: without it the folder is half made.
  if(EXISTS "${PROJECT_SOURCE_DIR}/deps/cuda/.made-from")
    list(PREPEND places "${PROJECT_SOURCE_DIR}/deps/cuda")
  endif()
  find_program(nvcc nvcc NO_CACHE NO_DEFAULT_PATH PATHS ENV PATH)
  if(nvcc)
    # First as called (in the view folder bin/nvcc is a link, and the toolkit is where the link stands), then as it is.
    file(REAL_PATH "${nvcc}" real)
    foreach(program "${nvcc}" "${real}")
      cmake_path(GET program PARENT_PATH bin)
      cmake_path(GET bin PARENT_PATH root)
      list(APPEND places "${root}")
    endforeach()
  endif()
  foreach(place IN LISTS places ITEMS /usr/local/cuda)
    tidemark_cuda_version("${place}" version)
    if(place AND version GREATER_EQUAL TIDEMARK_CUDA_MINIMUM)
      set(${out} "${place}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "No CUDA toolkit from 13.0 on was found.\nhint: run tools/setup, which fetches one into deps/")
endfunction()

if(NOT TIDEMARK_CUDA_ROOT)
  tidemark_find_cuda(TIDEMARK_CUDA_ROOT)
endif()
tidemark_cuda_version("${TIDEMARK_CUDA_ROOT}" TIDEMARK_CUDA_VERSION)
if(TIDEMARK_CUDA_VERSION LESS TIDEMARK_CUDA_MINIMUM)
  message(FATAL_ERROR "${TIDEMARK_CUDA_ROOT}: no CUDA toolkit from 13.0 on (CUDA_VERSION ${TIDEMARK_CUDA_VERSION})")
endif()
if(DEFINED CACHE{TIDEMARK_CUDA_ROOT_USED} AND NOT TIDEMARK_CUDA_ROOT_USED STREQUAL TIDEMARK_CUDA_ROOT)
  message(FATAL_ERROR "This build folder was made with ${TIDEMARK_CUDA_ROOT_USED}, the toolkit is now "
                      "${TIDEMARK_CUDA_ROOT}.\nhint: configure with cmake --fresh")
endif()
set(TIDEMARK_CUDA_ROOT_USED "${TIDEMARK_CUDA_ROOT}" CACHE INTERNAL "The toolkit of this build folder")

# Headers: the toolkit's own, else what set-up fetched for it. Each gives TIDEMARK_<PART>_INCLUDE.
set(_missing "")
set(_includes "")
foreach(_row "CUDA;cuda.h" "PROFILER;cudaProfiler.h" "NVML;nvml.h" "CUPTI;cupti.h" "NVTX;nvtx3/nvToolsExt.h"
             "CUBLAS;cublas_v2.h")
  list(GET _row 0 _part)
  list(GET _row 1 _header)
  string(TOLOWER "${_part}" _folder)
  unset(TIDEMARK_${_part}_INCLUDE)
  find_path(TIDEMARK_${_part}_INCLUDE "${_header}" NO_CACHE NO_DEFAULT_PATH
            PATHS "${TIDEMARK_CUDA_ROOT}/include" "${TIDEMARK_CUDA_ROOT}/extras/CUPTI/include"
                  "${PROJECT_SOURCE_DIR}/deps/${_folder}/include")
  if(TIDEMARK_${_part}_INCLUDE)
    list(APPEND _includes "${TIDEMARK_${_part}_INCLUDE}")
  else()
    list(APPEND _missing "${_header}")
  endif()
endforeach()
if(_missing)
  list(JOIN _missing ", " _missing)
  message(FATAL_ERROR "${TIDEMARK_CUDA_ROOT} lacks ${_missing}.\nhint: run tools/setup, which fetches what is missing")
endif()
list(REMOVE_DUPLICATES _includes)

# System headers: the vendor's warnings are not ours to fix.
add_library(tidemark_cuda_headers INTERFACE)
target_include_directories(tidemark_cuda_headers SYSTEM INTERFACE ${_includes})

# A fuzzing build has no use for device code and is made by clang. A compiler that was asked for by name stays.
if(TIDEMARK_FUZZERS OR NOT TIDEMARK_NVCC)
  unset(CMAKE_CUDA_COMPILER)
elseif(NOT CMAKE_CUDA_COMPILER AND "$ENV{CUDACXX}" STREQUAL "" AND EXISTS "${TIDEMARK_CUDA_ROOT}/bin/nvcc")
  set(CMAKE_CUDA_COMPILER "${TIDEMARK_CUDA_ROOT}/bin/nvcc")
endif()
if(CMAKE_CUDA_COMPILER OR (TIDEMARK_NVCC AND NOT TIDEMARK_FUZZERS AND NOT "$ENV{CUDACXX}" STREQUAL ""))
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Compute capability 7.5, the oldest that CUDA 13 knows, and PTX for all later ones.
    set(CMAKE_CUDA_ARCHITECTURES 75)
  endif()
  enable_language(CUDA)
  # The preload library and the software device both stand in for the shared runtime; a static one is out of reach.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  # CMake 3.25 does not know nvcc's C++20: required, as it is for C++, it is an error; the flag comes from
  # tidemark_flags instead.
  set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
endif()
