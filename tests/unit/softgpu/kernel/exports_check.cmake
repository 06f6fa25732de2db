# cmake -DNM=nm -DLIBRARY=x.so -P exports_check.cmake: fails unless a kernel library defines its entry and nothing else.
execute_process(COMMAND "${NM}" -D --defined-only "${LIBRARY}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "^[0-9a-f]+ T softgpu_kernel_library\n$")
  message(FATAL_ERROR "${LIBRARY} defines:\n${symbols}")
endif()
