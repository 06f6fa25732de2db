# What was found and what is off, in one place.
math(EXPR _major "${TIDEMARK_CUDA_VERSION} / 1000")
math(EXPR _minor "${TIDEMARK_CUDA_VERSION} % 1000 / 10")
message(STATUS "tidemark ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE} by ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, CUDA "
               "${_major}.${_minor} in ${TIDEMARK_CUDA_ROOT}")
foreach(_part "nvcc;CMAKE_CUDA_COMPILER;kernels, samples and conformance tests are left out"
              "ccache;TIDEMARK_CCACHE;rebuilds are slower" "GoogleTest;GTest_FOUND;no tests"
              "Google Benchmark;benchmark_FOUND;no benches" "sanitizers;TIDEMARK_SANITIZE;none"
              "PyTorch's allocator;TIDEMARK_TORCH_FOUND;in the benches its rules stand in for it, see tools/setup --torch"
              "fuzzers;TIDEMARK_FUZZERS;their corpora are replayed as unit tests")
  list(GET _part 0 _name)
  list(GET _part 1 _var)
  list(GET _part 2 _else)
  if(${_var})
    message(STATUS "  ${_name}: yes")
  else()
    message(STATUS "  ${_name}: no (${_else})")
  endif()
endforeach()
if(TIDEMARK_PROGRAMS)
  include(demo)
endif()
