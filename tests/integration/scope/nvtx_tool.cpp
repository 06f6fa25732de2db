// SPDX-License-Identifier: Apache-2.0
// Another tool that listens to NVTX, as a profiler does: it counts depths, hands out handles of its own, and writes
// every call to the file that TOOL_LOG names.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

int depth = 0, domain_depth = 0;
char strings[64][64];
int string_count = 0;

void log(const char* format, ...) {
  std::FILE* const file = std::fopen(std::getenv("TOOL_LOG"), "a");
  if (file == nullptr) return;
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fclose(file);
}

int NVTX_API push_a(const char* message) {
  log("push %s\n", message);
  return depth++;
}
int NVTX_API push_w(const wchar_t* message) {
  log("push %ls\n", message);
  return depth++;
}
int NVTX_API pop() {
  log("pop\n");
  return --depth;
}
nvtxRangeId_t NVTX_API start_a(const char* message) {
  log("start %s\n", message);
  return 0xabcdef0000000001;
}
void NVTX_API end(nvtxRangeId_t id) {
  log("end %llx\n", static_cast<unsigned long long>(id));
}
void NVTX_API mark_a(const char* message) {
  log("mark %s\n", message);
}
nvtxDomainHandle_t NVTX_API create_a(const char* name) {
  log("domain %s\n", name);
  return reinterpret_cast<nvtxDomainHandle_t>(0x1000);
}
nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t, const char* text) {
  log("string %s\n", text);
  std::snprintf(strings[string_count], sizeof strings[0], "%s", text);
  return reinterpret_cast<nvtxStringHandle_t>(strings[string_count++]);
}
int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  log("push %p %s\n", static_cast<void*>(domain), reinterpret_cast<const char*>(event->message.registered));
  return domain_depth++;
}
int NVTX_API domain_pop(nvtxDomainHandle_t domain) {
  log("pop %p\n", static_cast<void*>(domain));
  return --domain_depth;
}

template <class F>
void put(NvtxFunctionTable table, int id, F function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  if (std::getenv("TOOL_REFUSES") != nullptr) return 0;
  auto const* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr, core2 = nullptr;
  unsigned int size = 0;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size);
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size);
  put(core, NVTX_CBID_CORE_RangePushA, push_a);
  put(core, NVTX_CBID_CORE_RangePushW, push_w);
  put(core, NVTX_CBID_CORE_RangePop, pop);
  put(core, NVTX_CBID_CORE_RangeStartA, start_a);
  put(core, NVTX_CBID_CORE_RangeEnd, end);
  put(core, NVTX_CBID_CORE_MarkA, mark_a);
  put(core2, NVTX_CBID_CORE2_DomainCreateA, create_a);
  put(core2, NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
  put(core2, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  put(core2, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  return 1;
}
