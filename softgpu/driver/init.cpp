// SPDX-License-Identifier: Apache-2.0
// cuInit, versions, error texts.
#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/kernels.h"

#pragma GCC visibility push(default)
#include <cudaProfiler.h>
#pragma GCC visibility pop

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
  static bool unusable = false;  // said once; the answer stays
  if (unusable) return CUDA_ERROR_NOT_INITIALIZED;
  auto const why = load_kernel_libraries(driver);
  if (!why.ok()) {
    unusable = true;
    say("softgpu", "error: " + why.error().what + " (" + why.error().hint + ")");
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  for (int i = 0; i < driver.config.device_count; ++i) {
    auto device = make_device(driver, i);
    if (!device.ok()) {
      say("softgpu", "error: " + device.error().what + " (" + device.error().hint + ")");
      driver.devices.clear();
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    driver.devices.push_back(std::move(*device));
  }
  announce(driver, *why);
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

// The vendor's internal tables are not imitated, for anybody. Clients ask again and again: say it once.
CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  say_once("cuGetExportTable", "softgpu",
           "no internal driver tables here: a program or library with the vendor's static CUDA runtime inside cannot "
           "run on a "
           "software device (link it with -cudart shared)");
  return CUDA_ERROR_NOT_SUPPORTED;
}

// A profiler that is attached decides for itself; without one these do nothing.
CUresult CUDAAPI cuProfilerStart(void) {
  return with_context([](Call&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuProfilerStop(void) {
  return with_context([](Call&) { return CUDA_SUCCESS; });
}
