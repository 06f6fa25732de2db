# SPDX-License-Identifier: Apache-2.0
# Build functions for softgpu's shared libraries. All of them land in one folder, SOFTGPU_LIBRARY_DIR, which is what goes
# onto a program's library path.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(SOFTGPU_GENERATE_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(SOFTGPU_LIBRARY_DIR "${PROJECT_BINARY_DIR}/lib/softgpu" CACHE INTERNAL "where the device's libraries are built")
set(TIDEMARK_CUDA_SHIMS "${PROJECT_SOURCE_DIR}/tools/lib/cuda_shims")
file(GLOB _scripts CONFIGURE_DEPENDS "${SOFTGPU_GENERATE_DIR}/*.py" "${PROJECT_SOURCE_DIR}/tools/lib/cuda_*.py")
set(SOFTGPU_GENERATE_SCRIPTS "${_scripts}")

option(SOFTGPU_FRONTS "Let CUPTI's clients observe calls of the driver and runtime API" ON)
if(SOFTGPU_FRONTS AND NOT TIDEMARK_CUPTI_INCLUDE)
  message(STATUS "softgpu: no CUPTI headers, calls cannot be observed")
  set(SOFTGPU_FRONTS OFF)
endif()

# softgpu_generate(PREFIX driver|runtime|library NAME [options of generate.py, see its README])
# Sets PREFIX_DIR (on the include path for NAME_procs.inc), PREFIX_SOURCES, PREFIX_MAP and PREFIX_PUBLIC for the caller. The sources
# hold weak symbols and must be compiled into the shared library itself: as members of an archive they would hide
# strong definitions that stand in other archives. Headers that change make the command run again.
function(softgpu_generate prefix kind name)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/generated")
  set(sources "${dir}/${name}_stubs.cpp")
  set(others "${dir}/${name}_names.txt" "${dir}/${name}.map")
  if(NOT kind STREQUAL "library")
    list(APPEND sources "${dir}/${name}_twins.cpp")
  endif()
  if(kind STREQUAL "driver")
    list(APPEND others "${dir}/${name}_procs.inc")
  endif()
  if(kind STREQUAL "runtime")
    list(APPEND others "${dir}/${name}_launch.h")
  endif()
  set(options ${ARGN})
  set(public_names "")
  if(SOFTGPU_FRONTS AND NOT kind STREQUAL "library")
    # Fronts mean the exported names; everything else is compiled under the names behind them.
    set(public_names "${dir}/${name}_public.h")
    list(APPEND options --fronts --include "${TIDEMARK_CUPTI_INCLUDE}")
    list(APPEND sources "${dir}/${name}_fronts.cpp")
    list(APPEND others "${public_names}")
    set_source_files_properties("${dir}/${name}_fronts.cpp" PROPERTIES COMPILE_DEFINITIONS SOFTGPU_PUBLIC_NAMES)
  endif()
  if("--observation-tables" IN_LIST options)
    list(APPEND others "${dir}/${name}_ids.inc" "${dir}/${name}_results.inc")
  endif()
  add_custom_command(
    OUTPUT "${dir}/${name}.stamp" ${sources} ${others}
    COMMAND Python3::Interpreter "${SOFTGPU_GENERATE_DIR}/generate.py" ${kind} --name ${name} --out "${dir}"
            --compiler "${CMAKE_CXX_COMPILER}" --include "${TIDEMARK_CUDA_INCLUDE}" --include "${PROJECT_SOURCE_DIR}"
            --depfile "${dir}/${name}.d" ${options}
    DEPENDS ${SOFTGPU_GENERATE_SCRIPTS}
    DEPFILE "${dir}/${name}.d"
    COMMENT "Generating ${name} from the CUDA headers"
    VERBATIM)
  # The shims stand last: they only serve where a machine has no GL, EGL or VDPAU headers.
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-idirafter;${TIDEMARK_CUDA_SHIMS}")
  if(public_names)
    # A front is a test and a jump in every build type; as a call it would hide from the observed way who the caller was.
    set_source_files_properties("${dir}/${name}_fronts.cpp" PROPERTIES
      COMPILE_OPTIONS "-O2;-fno-sanitize=all;-idirafter;${TIDEMARK_CUDA_SHIMS}")
  endif()
  set(${prefix}_DIR "${dir}" PARENT_SCOPE)
  set(${prefix}_SOURCES "${sources}" PARENT_SCOPE)
  set(${prefix}_MAP "${dir}/${name}.map" PARENT_SCOPE)
  set(${prefix}_PUBLIC "${public_names}" PARENT_SCOPE)
endfunction()

# softgpu_library(target SONAME libX.so.N MAP file [PUBLIC file] [PRECOMPILE header...] SOURCES ... LINKS ... SYSTEM ...)
# A shared library with the vendor's name: exports what MAP lists, resolves its own symbols within itself. PUBLIC: the
# names that have fronts; hand-written definitions of them go behind those. PRECOMPILE: what nearly all files read.
function(softgpu_library target)
  cmake_parse_arguments(A "" "SONAME;MAP;PUBLIC" "SOURCES;LINKS;SYSTEM;PRECOMPILE" ${ARGN})
  string(REGEX MATCH "^lib(.*)\\.so\\.([0-9]+)$" _ "${A_SONAME}")
  set(output "${CMAKE_MATCH_1}")
  set(soversion "${CMAKE_MATCH_2}")
  tidemark_library(${target} SHARED SOURCES ${A_SOURCES} LINKS ${A_LINKS} SYSTEM tidemark_cuda_headers ${A_SYSTEM} ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${output}" SOVERSION "${soversion}"
    LIBRARY_OUTPUT_DIRECTORY "${SOFTGPU_LIBRARY_DIR}" LINK_DEPENDS "${A_MAP}")
  # Callers may pass any number where a header has an enum; it is looked at before it is believed. A source property,
  # since it has to stand after the sanitizers that a target inherits.
  set_property(SOURCE ${A_SOURCES} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=enum)
  if(A_PRECOMPILE AND TIDEMARK_PRECOMPILE)
    # The names come first here too: only the first file that is included so can be a precompiled one. Generated sources
    # have flags of their own.
    tidemark_precompile(${target} ${A_PUBLIC} ${A_PRECOMPILE})
    set(generated ${A_SOURCES})
    list(FILTER generated INCLUDE REGEX "^/")
    set_property(SOURCE ${generated} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    set_property(SOURCE ${generated} APPEND PROPERTY COMPILE_OPTIONS -include "${A_PUBLIC}")
  elseif(A_PUBLIC)
    target_compile_options(${target} PRIVATE "SHELL:-include \"${A_PUBLIC}\"")
  endif()
  target_link_options(${target} PRIVATE "LINKER:--version-script=${A_MAP}" "LINKER:-Bsymbolic" "LINKER:--exclude-libs,ALL"
    LINKER:-z,nodelete)  # the device's threads and state live as long as the process, whoever closes a handle
  if(NOT TIDEMARK_SANITIZE)
    target_link_options(${target} PRIVATE "LINKER:-z,defs")  # a sanitizer's runtime is in the program
  endif()
endfunction()
