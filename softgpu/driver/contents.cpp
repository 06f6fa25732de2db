// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/contents.h"

#include <vector>

#include "softgpu/driver/graph_exec.h"
#include "softgpu/driver/graph_memory.h"
#include "softgpu/driver/module.h"

namespace tidemark::softgpu {
namespace {

void free_blocks(Driver& driver, CUcontext context) {
  driver.blocks.for_each([&](Block* block) {
    if (block->context != context) return;
    switch (block->kind) {
      case MemoryKind::Pool:  // documented: outlives its context
        if (!context->primary) block->context = nullptr;
        return;
      case MemoryKind::Graph:
      case MemoryKind::Mapped: return;
      default: release_block(driver, block);
    }
  });
  settle_pools(driver);
}

}  // namespace

void free_contents(Call& call, CUcontext context) {
  Driver& driver = call.driver;
  std::vector<CUarray> arrays;
  driver.arrays.for_each([&](CUarray_st& a) {
    if (a.context == context) arrays.push_back(&a);
  });
  for (CUarray const array : arrays) {
    if (array->block != nullptr) release_block(driver, array->block);
    driver.arrays.destroy(array);
  }
  std::vector<CUmipmappedArray> mipmapped;
  driver.mipmapped_arrays.for_each([&](CUmipmappedArray_st& a) {
    if (a.context == context) mipmapped.push_back(&a);
  });
  for (CUmipmappedArray const array : mipmapped) driver.mipmapped_arrays.destroy(array);
  std::vector<CUevent> events;
  driver.events.for_each([&](CUevent_st& e) {
    if (e.context == context) events.push_back(&e);
  });
  for (CUevent const event : events) driver.events.destroy(event);
  std::vector<CUlibrary> libraries;
  driver.libraries.for_each([&](CUlib_st& library) {
    auto const module = library.modules.find(context);
    if (module == library.modules.end()) return;
    if (module->second->owns_library) {
      libraries.push_back(&library);
      return;
    }
    for (CUkernel const kernel : library.kernels) {
      auto const function = kernel->functions.find(module->second);
      if (function == kernel->functions.end()) continue;
      driver.functions.destroy(function->second);
      kernel->functions.erase(function);
    }
    driver.modules.destroy(module->second);
    library.modules.erase(module);
  });
  for (CUlibrary const library : libraries) unload_library(driver, library);
  driver.libraries.for_each([&](CUlib_st& library) {
    for (auto& [name, variable] : library.variables) {
      auto const block = variable.blocks.find(context->device->ordinal);
      if (block != variable.blocks.end() && block->second->context == context) variable.blocks.erase(block);
    }
  });
  drop_executables(driver, context);
  free_graph_memory(driver, context);
  free_blocks(driver, context);
}

}  // namespace tidemark::softgpu
