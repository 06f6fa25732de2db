// SPDX-License-Identifier: Apache-2.0
// cuInit, versions, error texts, and the look-up of entry points.
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/kernels.h"
#include "softgpu/driver/pools.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

Result<std::unique_ptr<Device>> make_device(Driver& driver, int ordinal) {
  auto device = std::make_unique<Device>();
  device->ordinal = ordinal;
  TIDEMARK_TRY(device->ledger, Ledger::open(driver.config.memory, driver.config.share, ordinal));
  TIDEMARK_TRY(device->memory, LinearMemory::create(driver.config.memory.n, *device->ledger));
  device->window = std::make_unique<LinearWindow>(*device->memory);
  for (auto const& [begin, end] : device->memory->windows()) driver.blocks.add_window(begin, end, device->window.get());
  if (!driver.dry_run) device->memory->note_touched();
  return device;
}

void announce(const Driver& driver, const std::string& why) {
  if (driver.config.quiet) return;
  std::string text = driver.config.device_name() + ", a software device of " + format_bytes(driver.config.memory);
  if (driver.config.device_count > 1) text += " (" + std::to_string(driver.config.device_count) + " of them)";
  text += driver.dry_run ? "; dry run, kernels are skipped and values are meaningless" : "; kernels run on the CPU";
  say("softgpu", text + " (" + why + ")");
  if (driver.dry_run && driver.config.check)
    say("softgpu",
        "check: in dry run only copies, sets, library calls and pointer parameters that a kernel's mangled name "
        "shows are checked");
}

CUresult initialise(Driver& driver) {
  std::string const why = load_kernel_libraries(driver);
  for (int i = 0; i < driver.config.device_count; ++i) {
    auto device = make_device(driver, i);
    if (!device.ok()) {
      say("softgpu", "error: " + device.error().what + " (" + device.error().hint + ")");
      driver.devices.clear();
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    driver.devices.push_back(std::move(*device));
  }
  announce(driver, why);
  driver.initialised = true;
  return CUDA_SUCCESS;
}

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
#define SOFTGPU_ERROR(code, text) \
  { code, #code, text }
#include "softgpu/driver/errors.inc"
#undef SOFTGPU_ERROR
};

const ErrorText* find_error(CUresult error) {
  auto const* const found =
      std::find_if(std::begin(kErrors), std::end(kErrors), [error](const ErrorText& e) { return e.code == error; });
  return found == std::end(kErrors) ? nullptr : found;
}

struct Proc {
  const char* name;
  int version;
  void* plain;
  void* per_thread;
};

const Proc kProcs[] = {
#define SOFTGPU_PROC(name, version, symbol, twin) \
  {#name, version, reinterpret_cast<void*>(&symbol), (void*)(twin)},
#include "driver_procs.inc"
#undef SOFTGPU_PROC
};

CUresult look_up(const char* name, void** out, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  auto const answer = [&](CUdriverProcAddressQueryResult s, CUresult result) {
    if (status != nullptr) *status = s;
    return result;
  };
  const Proc* best = nullptr;
  bool known = false;
  auto const range = std::equal_range(std::begin(kProcs), std::end(kProcs), Proc{name, 0, nullptr, nullptr},
                                      [](const Proc& a, const Proc& b) { return std::strcmp(a.name, b.name) < 0; });
  for (const Proc* p = range.first; p != range.second; ++p) {
    known = true;
    if (p->version <= version) best = p;
  }
  if (!known) return answer(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
  if (best == nullptr) return answer(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, CUDA_ERROR_NOT_FOUND);
  bool const per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *out = per_thread && best->per_thread != nullptr ? best->per_thread : best->plain;
  return answer(CU_GET_PROC_ADDRESS_SUCCESS, CUDA_SUCCESS);
}

}  // namespace

CUresult CUDAAPI cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return CUDA_ERROR_NOT_INITIALIZED;
  Lock const lock(driver->engine.mutex());
  return driver->initialised ? CUDA_SUCCESS : initialise(*driver);
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver* const driver = Driver::configured();
  *version = driver != nullptr ? driver->config.driver_version : CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* const found = find_error(error);
  *name = found != nullptr ? found->name : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* const found = find_error(error);
  *text = found != nullptr ? found->text : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* status) {
  return look_up(symbol, function, version, flags, status);
}

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return look_up(symbol, function, version, flags, nullptr);
}

// The vendor's internal tables are not imitated, for anybody. Clients ask again and again: say it once.
CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  say_once("cuGetExportTable", "softgpu",
           "no internal driver tables here: a program or library with the vendor's static CUDA runtime inside cannot "
           "run on a "
           "software device (link it with -cudart shared)");
  return CUDA_ERROR_NOT_SUPPORTED;
}
