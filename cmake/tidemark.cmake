# Build functions. A target names its folder; the folder's row in layers.txt says what it may link to.

set(TIDEMARK_LAYERS_FILE "${CMAKE_CURRENT_LIST_DIR}/layers.txt")
file(STRINGS "${TIDEMARK_LAYERS_FILE}" _rows REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${TIDEMARK_LAYERS_FILE}")
foreach(_row IN LISTS _rows)
  string(REGEX MATCH "^([^:]+):(.*)$" _ "${_row}")
  set(_folder "${CMAKE_MATCH_1}")
  separate_arguments(_uses UNIX_COMMAND "${CMAKE_MATCH_2}")
  set_property(GLOBAL PROPERTY TIDEMARK_USES_${_folder} "${_uses}")
  set_property(GLOBAL APPEND PROPERTY TIDEMARK_LAYERS "${_folder}")
endforeach()

# The row that governs a folder: itself, or the nearest parent that has one.
function(tidemark_layer_of folder out)
  get_property(layers GLOBAL PROPERTY TIDEMARK_LAYERS)
  set(at "${folder}")
  while(NOT at IN_LIST layers)
    if(NOT at MATCHES "/")
      message(FATAL_ERROR "${folder}: no row in cmake/layers.txt")
    endif()
    string(REGEX REPLACE "/[^/]*$" "" at "${at}")
  endwhile()
  set(${out} "${at}" PARENT_SCOPE)
endfunction()

function(tidemark_check_links target links)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  tidemark_layer_of("${folder}" layer)
  get_property(uses GLOBAL PROPERTY TIDEMARK_USES_${layer})
  foreach(link IN LISTS links)
    if(NOT link MATCHES "^tidemark::")
      continue()
    endif()
    get_target_property(real ${link} ALIASED_TARGET)
    get_target_property(other ${real} TIDEMARK_LAYER)
    if(NOT other STREQUAL layer AND NOT other IN_LIST uses AND NOT "*" IN_LIST uses)
      message(FATAL_ERROR "${target}: ${layer}/ may not use ${other}/ (cmake/layers.txt)")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES TIDEMARK_LAYER "${layer}")
endfunction()

# Reading the standard library's headers takes most of the time of most files: they are compiled once for all libraries,
# and once more where a target's flags are its own. Not in every preset: a file must name what it uses, and a build
# without this shows whether it does.
set(TIDEMARK_COMMON_HEADERS <algorithm> <array> <atomic> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
    <string_view> <unordered_map> <variant> <vector>)
# ccache wants -fpch-preprocess of files with a precompiled header.
set(_gnu "$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>")
set(TIDEMARK_CACHED_PCH "$<$<AND:${_gnu}>:-fpch-preprocess>")
# GCC 12 forgets that a precompiled header is the system's, and shows its false alarms about std::string (its bug 105651 and others);
# presets without one still have these warnings.
set(TIDEMARK_QUIET_PCH "$<$<AND:${_gnu},$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-stringop-overflow>")

# tidemark_precompile(target [HEADER...]): the headers, or the common ones as they are for every library. A file with flags of
# its own takes no part: SKIP_PRECOMPILE_HEADERS.
function(tidemark_precompile target)
  if(NOT TIDEMARK_PRECOMPILE)
    return()
  endif()
  target_compile_options(${target} PRIVATE "${TIDEMARK_CACHED_PCH}" "${TIDEMARK_QUIET_PCH}")
  if(ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    return()
  endif()
  if(NOT TARGET tidemark_common_headers)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/common_headers/empty.cpp" CONTENT "\n")
    add_library(tidemark_common_headers STATIC "${PROJECT_BINARY_DIR}/common_headers/empty.cpp")
    target_link_libraries(tidemark_common_headers PRIVATE tidemark_flags)
    tidemark_precompile(tidemark_common_headers ${TIDEMARK_COMMON_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM tidemark_common_headers)
endfunction()

# Where sanitizers are on, files of a target are compiled together, which takes half the time (CMAKE_UNITY_BUILD in
# CMakePresets.json). Not those whose files define the same local names, or want the CUDA headers in different ways.
set(TIDEMARK_APART tidemark tidemark_analysis_report tidemark_interpose tidemark_tests_upstream tidemark_allocator_tests
    tidemark_allocator_random_tests tidemark_analysis_replay_tests tidemark_interpose_scope_tests tidemark_report_tests
    tidemark_softgpu_runtime_tests tidemark_softgpu_cupti_tests)
function(tidemark_keep_apart target)
  if(target IN_LIST TIDEMARK_APART)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# tidemark_library(tidemark_x [SHARED|STATIC|OBJECT|INTERFACE] [OWN_FLAGS] SOURCES ... LINKS ... SYSTEM ...)
# LINKS are layers of ours (public); SYSTEM are outside libraries (private). OWN_FLAGS: it is compiled unlike the others.
function(tidemark_library target)
  cmake_parse_arguments(A "SHARED;STATIC;OBJECT;INTERFACE;OWN_FLAGS" "" "SOURCES;LINKS;SYSTEM" ${ARGN})
  if(A_INTERFACE)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE tidemark_flags ${A_LINKS} ${A_SYSTEM})
  else()
    set(kind STATIC)
    foreach(k SHARED OBJECT)
      if(A_${k})
        set(kind ${k})
      endif()
    endforeach()
    add_library(${target} ${kind} ${A_SOURCES})
    tidemark_keep_apart(${target})
    target_link_libraries(${target} PUBLIC tidemark_flags ${A_LINKS} PRIVATE ${A_SYSTEM})
    if(NOT A_SHARED AND NOT A_OWN_FLAGS)
      tidemark_precompile(${target})
    endif()
  endif()
  string(REPLACE "tidemark_" "" short "${target}")
  add_library(tidemark::${short} ALIAS ${target})
  tidemark_check_links(${target} "${A_LINKS}")
endfunction()

# tidemark_program(name SOURCES ... LINKS ... SYSTEM ...)
function(tidemark_program target)
  cmake_parse_arguments(A "" "" "SOURCES;LINKS;SYSTEM" ${ARGN})
  add_executable(${target} ${A_SOURCES})
  tidemark_keep_apart(${target})
  target_link_libraries(${target} PRIVATE tidemark_flags ${A_LINKS} ${A_SYSTEM})
  tidemark_check_links(${target} "${A_LINKS}")
endfunction()

# GoogleTest's header takes longer to compile than most tests that use it: once for all of them.
function(tidemark_test_headers)
  if(TARGET tidemark_test_headers)
    return()
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_headers/main.cpp" CONTENT "int main() {}\n")
  add_executable(tidemark_test_headers "${PROJECT_BINARY_DIR}/test_headers/main.cpp")
  target_link_libraries(tidemark_test_headers PRIVATE tidemark_flags GTest::gtest)
  target_compile_options(tidemark_test_headers PRIVATE ${ARGN})
  target_precompile_headers(tidemark_test_headers PRIVATE <gtest/gtest.h> ${TIDEMARK_COMMON_HEADERS} <filesystem> <fstream> <thread>)
endfunction()

# Most of a build is spent on assertions' code, whose own speed matters to nobody.
function(tidemark_compile_as_test target)
  set(options "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Debug>>:-O0;-g1>" "${TIDEMARK_CACHED_PCH}" "${TIDEMARK_QUIET_PCH}")
  target_compile_options(${target} PRIVATE "${options}")
  tidemark_test_headers("${options}")
  target_precompile_headers(${target} REUSE_FROM tidemark_test_headers)
endfunction()

# tidemark_test(tidemark_x_tests LABELS unit SOURCES ... LINKS ... SYSTEM ... [ENVIRONMENT K=V ...])
# A GoogleTest program; CTest sees one entry per program, so that a suite's start-up is paid once.
function(tidemark_test target)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;LINKS;SYSTEM;LABELS;ENVIRONMENT;ARGS" ${ARGN})
  tidemark_program(${target} SOURCES ${A_SOURCES} LINKS ${A_LINKS} SYSTEM ${A_SYSTEM} GTest::gtest GTest::gtest_main)
  tidemark_compile_as_test(${target})
  add_test(NAME ${target} COMMAND ${target} ${A_ARGS})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 300)
  endif()
  set_tests_properties(${target} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT} ENVIRONMENT "${A_ENVIRONMENT}")
endfunction()
