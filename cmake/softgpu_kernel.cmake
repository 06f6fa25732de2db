# softgpu_kernel_library(target SOURCES x_cpu.cpp ... [LINKS tidemark::... ...] [FOR program])
# The CPU bodies of a program's kernels as a shared object that softgpu opens: PROGRAM.softgpu.so beside the program,
# or, without FOR, lib<target>.so for SOFTGPU_KERNELS. Only softgpu_kernel_library() is visible in it.
set(SOFTGPU_KERNEL_ARCH "" CACHE STRING
    "-march for CPU kernel bodies (empty: what every x86-64 has); values do not depend on it")

function(softgpu_kernel_library target)
  cmake_parse_arguments(A "" "FOR" "SOURCES;LINKS" ${ARGN})
  tidemark_library(${target} SHARED SOURCES ${A_SOURCES} LINKS tidemark::softgpu_kernel ${A_LINKS} SYSTEM tidemark_cuda_headers)
  # Hidden visibility is not taste: registration asks the assembler for names of symbols that are local to the library.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LINK_DEPENDS "${PROJECT_SOURCE_DIR}/softgpu/kernel/exports.map")
  # -ffp-contract=off: a*b+c is two roundings in every build. With contraction the values would depend on the processor the
  # library was built for and on how the compiler happened to inline. (nvcc contracts by default; where a kernel needs the
  # fused form for its result, it says fmaf.)
  # -fno-math-errno -fno-trapping-math change no value; without them sqrtf and selections cannot be vectorised.
  set(options -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math)
  target_compile_options(${target} PRIVATE ${options}
    "$<$<BOOL:${SOFTGPU_KERNEL_ARCH}>:-march=${SOFTGPU_KERNEL_ARCH}>")
  # nodelete: the fault handler and the per-thread engines outlive a dlclose.
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/softgpu/kernel/exports.map" LINKER:--undefined=softgpu_kernel_library
    LINKER:-z,nodelete)
  if(NOT TIDEMARK_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  if(A_FOR)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${A_FOR}" SUFFIX ".softgpu.so")
    if(TARGET ${A_FOR})
      set_target_properties(${target} PROPERTIES
        OUTPUT_NAME "$<TARGET_FILE_NAME:${A_FOR}>" LIBRARY_OUTPUT_DIRECTORY "$<TARGET_FILE_DIR:${A_FOR}>")
    else()
      set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
    endif()
  endif()
endfunction()
