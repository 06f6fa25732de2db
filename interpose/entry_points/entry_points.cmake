# SPDX-License-Identifier: Apache-2.0
# From the table of entry points to what libtidemark.so is built from. README.md beside this file has the files and rows.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(TIDEMARK_ENTRY_POINTS_DIR "${CMAKE_CURRENT_LIST_DIR}")
file(GLOB TIDEMARK_ENTRY_POINTS_SCRIPTS CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*.py" "${PROJECT_SOURCE_DIR}/tools/lib/cuda_*.py")

# tidemark_entry_points(PREFIX hooked_names.txt own_names.txt)
# Sets for the caller: PREFIX_DIR (goes onto the include path), PREFIX_ROWS (the .inc files), PREFIX_EXPORTS and
# PREFIX_DLSYM_EXPORTS (assembly sources), PREFIX_MAP and PREFIX_SONAME_MAP (version scripts with and without the latter).
# Every target that compiles against the rows lists PREFIX_ROWS among its sources or depends on the target that does.
function(tidemark_entry_points prefix hooks own)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/entry_points")
  set(rows "")
  foreach(layer driver runtime nvml)
    list(APPEND rows "${dir}/${layer}_entries.inc" "${dir}/hooked_${layer}_entries.inc")
  endforeach()
  foreach(name hooked_names hooked_procs known_procs order_entries)
    list(APPEND rows "${dir}/${name}.inc")
  endforeach()
  set(exports "${dir}/exports.S" "${dir}/order.S")
  add_custom_command(
    OUTPUT "${dir}/entry_points.stamp" ${rows} ${exports} "${dir}/dlsym_exports.S" "${dir}/exports.map"
           "${dir}/soname_exports.map"
    COMMAND Python3::Interpreter "${TIDEMARK_ENTRY_POINTS_DIR}/generate.py" --out "${dir}" --hooks "${hooks}" --own "${own}"
            --compiler "${CMAKE_CXX_COMPILER}" --include "${TIDEMARK_CUDA_INCLUDE}" --include "${TIDEMARK_PROFILER_INCLUDE}"
            --include "${TIDEMARK_NVML_INCLUDE}" --depfile "${dir}/entry_points.d"
    DEPENDS "${hooks}" "${own}" "${TIDEMARK_ENTRY_POINTS_DIR}/entry_points.txt" ${TIDEMARK_ENTRY_POINTS_SCRIPTS}
    DEPFILE "${dir}/entry_points.d"
    COMMENT "Generating the rows and exported names of the interposer"
    VERBATIM)
  set(${prefix}_DIR "${dir}" PARENT_SCOPE)
  set(${prefix}_ROWS "${rows}" PARENT_SCOPE)
  set(${prefix}_EXPORTS "${exports}" PARENT_SCOPE)
  set(${prefix}_DLSYM_EXPORTS "${dir}/dlsym_exports.S" PARENT_SCOPE)
  set(${prefix}_MAP "${dir}/exports.map" PARENT_SCOPE)
  set(${prefix}_SONAME_MAP "${dir}/soname_exports.map" PARENT_SCOPE)
endfunction()
