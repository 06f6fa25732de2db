// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/records.h"

#include <unistd.h>

#include "softgpu/cupti/buffers.h"
#include "softgpu/cupti/clock.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/selection.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {
namespace {

constexpr std::uint64_t kRuntimeBit = std::uint64_t{1} << 32;
constexpr std::uint64_t kAsyncBit = std::uint64_t{1} << 33;

// Ids of the device start at 1 and count up in the process.
std::uint32_t id(std::uint64_t n) {
  return static_cast<std::uint32_t>(n);
}

std::uint32_t context_or_invalid(std::uint64_t n) {
  return n != 0 ? id(n) : CUPTI_INVALID_CONTEXT_ID;
}

enum class Side { Host, Device, Array };

Side side_of(int kind) {
  switch (kind) {
    case SOFTGPU_MEMORY_PAGEABLE:
    case SOFTGPU_MEMORY_PINNED: return Side::Host;
    case SOFTGPU_MEMORY_ARRAY: return Side::Array;
    default: return Side::Device;
  }
}

CUpti_ActivityMemcpyKind copy_kind(const SoftgpuWorkEvent& event) {
  constexpr CUpti_ActivityMemcpyKind kKinds[3][3] = {
      {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA},
      {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA},
      {CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA}};
  if (is_peer_copy(event)) return CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  return kKinds[static_cast<int>(side_of(event.source_kind))][static_cast<int>(side_of(event.destination_kind))];
}

std::uint8_t copy_flags(const Origin& origin) {
  return origin.is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
}

// What every record of executed work has.
template <class Record>
void set_place_and_time(Record& record, const SoftgpuWorkEvent& event) {
  record.start = from_device(event.start_ns);
  record.end = from_device(event.end_ns);
  record.deviceId = static_cast<std::uint32_t>(event.device);
  record.contextId = id(event.context);
  record.streamId = id(event.stream);
  record.correlationId = Origin::unpacked(event.tag).correlation;
  record.channelID = CUPTI_INVALID_CHANNEL_ID;
}

std::uint32_t attribute(CUdevice ordinal, CUdevice_attribute wanted) {
  int value = 0;
  device()->device_attribute(&value, wanted, ordinal);
  return static_cast<std::uint32_t>(value);
}

}  // namespace

std::size_t record_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return sizeof(CUpti_ActivityMemoryPool3);
    default: return 0;
  }
}

std::uint64_t Origin::packed() const {
  return correlation | (is_runtime ? kRuntimeBit : 0) | (is_async ? kAsyncBit : 0);
}

Origin Origin::unpacked(std::uint64_t tag) {
  return {static_cast<std::uint32_t>(tag), (tag & kRuntimeBit) != 0, (tag & kAsyncBit) != 0};
}

CUpti_ActivityKernel10 kernel_record(const SoftgpuWorkEvent& event, CUpti_ActivityKind kind) {
  CUpti_ActivityKernel10 record{};
  record.kind = kind;
  set_place_and_time(record, event);
  record.completed = record.end;
  record.name = intern(event.name);
  record.gridX = static_cast<std::int32_t>(event.grid[0]);
  record.gridY = static_cast<std::int32_t>(event.grid[1]);
  record.gridZ = static_cast<std::int32_t>(event.grid[2]);
  record.blockX = static_cast<std::int32_t>(event.block[0]);
  record.blockY = static_cast<std::int32_t>(event.block[1]);
  record.blockZ = static_cast<std::int32_t>(event.block[2]);
  record.staticSharedMemory = static_cast<std::int32_t>(event.static_shared_bytes);
  record.dynamicSharedMemory = static_cast<std::int32_t>(event.dynamic_shared_bytes);
  record.sharedMemoryExecuted = event.static_shared_bytes + event.dynamic_shared_bytes;
  record.registersPerThread = static_cast<std::uint16_t>(event.registers_per_thread);
  record.partitionedGlobalCacheRequested = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  record.partitionedGlobalCacheExecuted = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  record.gridId = record.correlationId;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  record.launchType = event.cooperative != 0 ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                             : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  if (wants_latency_timestamps()) record.queued = record.submitted = from_device(event.queued_ns);
  return record;
}

bool is_peer_copy(const SoftgpuWorkEvent& event) {
  return event.source_device >= 0 && event.destination_device >= 0 && event.source_device != event.destination_device;
}

CUpti_ActivityMemcpy6 copy_record(const SoftgpuWorkEvent& event) {
  Origin const origin = Origin::unpacked(event.tag);
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  set_place_and_time(record, event);
  record.copyKind = static_cast<std::uint8_t>(copy_kind(event));
  record.srcKind = static_cast<std::uint8_t>(event.source_kind);
  record.dstKind = static_cast<std::uint8_t>(event.destination_kind);
  record.flags = copy_flags(origin);
  record.bytes = event.bytes;
  record.runtimeCorrelationId = origin.is_runtime ? origin.correlation : 0;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  record.copyCount = 1;
  return record;
}

CUpti_ActivityMemcpyPtoP4 peer_copy_record(const SoftgpuWorkEvent& event) {
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  set_place_and_time(record, event);
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.srcKind = static_cast<std::uint8_t>(event.source_kind);
  record.dstKind = static_cast<std::uint8_t>(event.destination_kind);
  record.flags = copy_flags(Origin::unpacked(event.tag));
  record.bytes = event.bytes;
  record.srcDeviceId = static_cast<std::uint32_t>(event.source_device);
  record.dstDeviceId = static_cast<std::uint32_t>(event.destination_device);
  record.srcContextId = record.dstContextId = CUPTI_INVALID_CONTEXT_ID;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  return record;
}

CUpti_ActivityMemset4 set_record(const SoftgpuWorkEvent& event) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set_place_and_time(record, event);
  record.value = event.value;
  record.bytes = event.bytes;
  record.memoryKind = static_cast<std::uint16_t>(event.destination_kind);
  record.flags = Origin::unpacked(event.tag).is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  return record;
}

CUpti_ActivityMemory4 memory_record(const SoftgpuMemoryEvent& event) {
  Thread const& thread = thread_state();
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = event.released != 0 ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                                   : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = static_cast<CUpti_ActivityMemoryKind>(event.kind);
  record.correlationId = thread.depth != 0 ? thread.correlation : CUPTI_CORRELATION_ID_UNKNOWN;
  record.address = event.address;
  record.bytes = event.bytes;
  record.timestamp = from_device(event.time_ns);
  record.PC = thread.depth != 0 ? reinterpret_cast<std::uint64_t>(thread.caller) : 0;
  record.processId = static_cast<std::uint32_t>(::getpid());
  record.deviceId = static_cast<std::uint32_t>(event.device);
  record.contextId = context_or_invalid(event.context);
  record.streamId = event.stream != 0 ? id(event.stream) : CUPTI_INVALID_STREAM_ID;
  record.isAsync = event.stream != 0;
  record.name = intern(event.name);
  record.source = thread.depth != 0 ? thread.source : nullptr;
  if (event.pool.address != 0) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = event.pool.address;
    record.memoryPoolConfig.releaseThreshold = event.pool.release_threshold_bytes;
    record.memoryPoolConfig.pool.size = event.pool.reserved_bytes;
    record.memoryPoolConfig.utilizedSize = event.pool.used_bytes;
  }
  return record;
}

CUpti_ActivityMemoryPool3 pool_record(const SoftgpuPoolEvent& event) {
  Thread const& thread = thread_state();
  CUpti_ActivityMemoryPool3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolOperationType = static_cast<CUpti_ActivityMemoryPoolOperationType>(event.what);
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = thread.depth != 0 ? thread.correlation : CUPTI_CORRELATION_ID_UNKNOWN;
  record.processId = static_cast<std::uint32_t>(::getpid());
  record.deviceId = static_cast<std::uint32_t>(event.device);
  record.minBytesToKeep = event.keep_bytes;
  record.address = event.pool.address;
  record.size = event.pool.reserved_bytes;
  record.releaseThreshold = event.pool.release_threshold_bytes;
  record.timestamp = from_device(event.time_ns);
  record.utilizedSize = event.pool.used_bytes;
  return record;
}

CUpti_ActivityContext3 context_record(const SoftgpuResourceEvent& event) {
  CUpti_ActivityContext3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = id(event.context);
  record.deviceId = static_cast<std::uint32_t>(event.device);
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = static_cast<std::uint16_t>(event.stream);
  return record;
}

CUpti_ActivityStream stream_record(const SoftgpuResourceEvent& event) {
  Thread const& thread = thread_state();
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = id(event.context);
  record.streamId = id(event.stream);
  record.priority = static_cast<std::uint32_t>(event.priority);
  record.flag = event.is_default != 0     ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
                : event.non_blocking != 0 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                          : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  record.correlationId = thread.depth != 0 ? thread.correlation : CUPTI_CORRELATION_ID_UNKNOWN;
  return record;
}

CUpti_ActivityDevice5 device_record(CUdevice ordinal) {
  CUpti_ActivityDevice5 record{};
  auto const get = [&](CUdevice_attribute wanted) { return attribute(ordinal, wanted); };
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  std::size_t memory = 0;
  device()->device_memory(&memory, ordinal);
  record.globalMemorySize = memory;
  // kHz, twice per clock, bits: in kB/s, as CUPTI documents it.
  record.globalMemoryBandwidth = std::uint64_t{2} * get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                                 get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  record.constantMemorySize = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  record.l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  record.numThreadsPerWarp = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  record.coreClockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  record.numMemcpyEngines = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  record.numMultiprocessors = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  record.maxWarpsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32;
  record.maxBlocksPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  record.maxSharedMemoryPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  record.maxRegistersPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  record.maxRegistersPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  record.maxSharedMemoryPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  record.maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  record.maxBlockDimX = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  record.maxBlockDimY = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  record.maxBlockDimZ = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  record.maxGridDimX = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  record.maxGridDimY = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  record.maxGridDimZ = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  record.computeCapabilityMajor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  record.computeCapabilityMinor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  record.id = static_cast<std::uint32_t>(ordinal);
  CUuuid uuid{};
  device()->device_uuid(&uuid, ordinal);
  record.uuid = uuid;
  char name[128] = "";
  device()->device_name(name, sizeof name, ordinal);
  record.name = intern(name);
  record.isCudaVisible = 1;
  return record;
}

}  // namespace tidemark::softgpu::cupti
