# Options and the flags that every target carries.
option(TIDEMARK_WERROR "Treat compiler warnings as errors" OFF)
option(TIDEMARK_INVARIANTS "Check the invariants written in the headers after each change" OFF)
set(TIDEMARK_SANITIZE "" CACHE STRING "Sanitizers to build with: address, thread or empty")
option(TIDEMARK_PROGRAMS "Build samples, benches, integration and conformance tests beside the libraries and unit tests" ON)
option(TIDEMARK_PRECOMPILE "Compile the headers that most files read only once" OFF)
option(TIDEMARK_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(TIDEMARK_CCACHE ccache)
if(TIDEMARK_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${TIDEMARK_CCACHE}")
  # Files with a precompiled header are cached only where ccache may trust it (see the manual's section about them).
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${TIDEMARK_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${TIDEMARK_CCACHE}")
endif()
find_package(Threads REQUIRED)

add_library(tidemark_flags INTERFACE)
target_include_directories(tidemark_flags INTERFACE "${PROJECT_SOURCE_DIR}")
set(_cxx "$<COMPILE_LANGUAGE:C,CXX>")
target_compile_options(tidemark_flags INTERFACE
  "$<${_cxx}:-Wall;-Wextra;-Wshadow;-Wno-missing-field-initializers;-fno-omit-frame-pointer>"
  # A lost `return` in an entry point that a client retries looks like a hang inside the client.
  "$<${_cxx}:-Werror=return-type>"
  # CMake 3.25 drops CUDA_STANDARD 20 without a word.
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies inside `"text" + std::string` when it optimises (its bug 105651).
  target_compile_options(tidemark_flags INTERFACE "$<${_cxx}:-Wno-restrict>")
endif()
if(TIDEMARK_WERROR)
  # GCC guesses at -O3 that an empty std::optional is read: shown, but not an error.
  target_compile_options(tidemark_flags INTERFACE "$<${_cxx}:-Werror;$<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized>>" "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
if(TIDEMARK_INVARIANTS)
  target_compile_definitions(tidemark_flags INTERFACE TIDEMARK_INVARIANTS=1)
endif()
# One flag per sanitizer: nvcc would split a list at its commas.
set(_san "")
if(TIDEMARK_SANITIZE STREQUAL "address" OR TIDEMARK_FUZZERS)
  set(_san -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
elseif(TIDEMARK_SANITIZE STREQUAL "thread")
  set(_san -fsanitize=thread)
elseif(TIDEMARK_SANITIZE)
  message(FATAL_ERROR "TIDEMARK_SANITIZE=${TIDEMARK_SANITIZE}: expected address or thread")
endif()
if(_san)
  list(JOIN _san "," _san_commas)
  target_compile_options(tidemark_flags INTERFACE "$<${_cxx}:${_san}>" "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler ${_san_commas}>")
  target_link_options(tidemark_flags INTERFACE ${_san})
endif()
target_link_libraries(tidemark_flags INTERFACE Threads::Threads)

find_package(GTest)
find_package(benchmark)
if(BUILD_TESTING AND NOT GTest_FOUND)
  set(BUILD_TESTING OFF)
endif()
include(fuzz)
