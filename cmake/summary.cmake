# What was found and what is off, in one place.
message(STATUS "tidemark ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, CUDA headers ${TIDEMARK_CUDA_INCLUDE}")
foreach(_part "nvcc;CMAKE_CUDA_COMPILER;kernels, samples and conformance tests are left out"
              "ccache;TIDEMARK_CCACHE;rebuilds are slower" "GoogleTest;GTest_FOUND;no tests"
              "Google Benchmark;benchmark_FOUND;no benches")
  list(GET _part 0 _name)
  list(GET _part 1 _var)
  list(GET _part 2 _else)
  if(${_var})
    message(STATUS "  ${_name}: yes")
  else()
    message(STATUS "  ${_name}: no (${_else})")
  endif()
endforeach()
