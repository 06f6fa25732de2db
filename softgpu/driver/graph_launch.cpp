// SPDX-License-Identifier: Apache-2.0
// A launch: the plan's steps become items of streams (docs/decisions/0005-graph-launch.md).
#include <algorithm>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/graph_exec.h"
#include "softgpu/driver/graph_memory.h"

namespace tidemark::softgpu {
namespace {

CUstream take_lane(Driver& driver, CUcontext context) {
  auto& spare = context->spare_lanes;
  auto const idle = std::find_if(spare.begin(), spare.end(), [&](CUstream s) {
    return s->pending.empty() && !s->running && driver.engine.idle(*s);
  });
  if (idle != spare.end()) {
    CUstream const lane = *idle;
    spare.erase(idle);
    return lane;
  }
  // Not blocking: the legacy stream's order reaches it through the launch stream.
  CUstream const lane = make_stream(driver, context, CU_STREAM_NON_BLOCKING, 0);
  lane->is_lane = true;
  context->streams.push_back(lane);
  return lane;
}

// What was alive when the graph was made may be gone now.
CUresult check_node(Driver& driver, const ExecNode& node) {
  if (node.body.context != nullptr && driver.contexts.check(node.body.context) == nullptr)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (auto const* const event = std::get_if<EventWork>(&node.body.work))
    return driver.events.check(event->event) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  auto const* const operation = std::get_if<Operation>(&node.body.work);
  auto const* const kernel = operation != nullptr ? std::get_if<KernelOp>(operation) : nullptr;
  if (kernel != nullptr && driver.kernels.check(kernel->kernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

bool frees_on_launch(CUgraphExec exec) {
  return (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
}

// Whether each allocation is dead and each free finds one alive, in the order of the plan.
CUresult check_lives(CUgraphExec exec) {
  std::map<const GraphAllocation*, bool> alive;
  auto const is_alive = [&](const GraphAllocation* a) -> bool& { return alive.try_emplace(a, a->alive).first->second; };
  for (std::size_t const i : exec->plan.memory) {
    Work const& work = exec->plan.steps[i].node->body.work;
    bool const allocates = std::holds_alternative<AllocWork>(work);
    auto const* const who =
        allocates ? std::get<AllocWork>(work).allocation.get() : std::get<FreeWork>(work).allocation.get();
    if (allocates && frees_on_launch(exec)) alive[who] = false;
    if (is_alive(who) == allocates) return CUDA_ERROR_INVALID_VALUE;
    is_alive(who) = allocates;
  }
  return CUDA_SUCCESS;
}

class Launch {
 public:
  Launch(Call& call, CUgraphExec exec, CUstream stream)
      : driver_(call.driver), engine_(call.engine()), exec_(exec), stream_(stream) {}

  CUresult run(Lock& lock) {
    for (Step const& step : exec_->plan.steps)
      if (step.node != nullptr)
        if (CUresult const wrong = check_node(driver_, *step.node); wrong != CUDA_SUCCESS) return wrong;
    if (CUresult const wrong = check_lives(exec_); wrong != CUDA_SUCCESS) return wrong;
    if (frees_on_launch(exec_)) free_leftovers();
    bool const backed = back();
    if (backed) {
      choose_streams();
      begin();
      for (Step const& step : exec_->plan.steps) tickets_.push_back(queue(step));
      end();
    }
    engine_.proceed(lock, *stream_);
    return backed ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  }

 private:
  void free_leftovers() {
    for (std::size_t const i : exec_->plan.memory) {
      auto const* const work = std::get_if<AllocWork>(&exec_->plan.steps[i].node->body.work);
      if (work == nullptr || !work->allocation->alive) continue;
      auto const backing = work->allocation->backing;
      note_free(*backing, engine_.enqueue(*stream_, end_life(driver_, work->allocation)), exec_->id);
    }
  }

  bool back() {
    for (auto const& [device, bytes] : exec_->plan.backing) {
      BackingRequest const request{.device = device, .bytes = bytes, .stream = stream_, .executable = exec_->id};
      if (!take_backing(driver_, request, exec_->backings[device], waits_)) return false;
    }
    return true;
  }

  // The first lane that may hold work of the launch stream's context is that stream itself.
  void choose_streams() {
    auto const& lanes = exec_->plan.lanes;
    streams_.assign(lanes.size(), nullptr);
    bool taken = false;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (!taken && (lanes[i] == nullptr || lanes[i] == stream_->context)) {
        streams_[i] = stream_;
        taken = true;
        continue;
      }
      CUcontext const context = lanes[i] != nullptr ? lanes[i] : stream_->context;
      CUstream& own = exec_->lanes[i];
      if (own == nullptr || own->context != context) own = take_lane(driver_, context);
      streams_[i] = own;
    }
  }

  void begin() {
    Item item;
    item.name = "graph launch";
    item.waits = std::move(waits_);
    if (exec_->last) item.waits.push_back(exec_->last);
    start_ = engine_.enqueue(*stream_, std::move(item));
  }

  Ref<Ticket> queue(const Step& step) {
    std::vector<Ref<Ticket>> waits;
    for (std::size_t const d : step.dependencies)
      if (exec_->plan.steps[d].lane != step.lane) waits.push_back(tickets_[d]);
    CUstream const stream = streams_[step.lane];
    if (step.dependencies.empty() && stream != stream_) waits.push_back(start_);
    if (step.node == nullptr || !step.node->enabled) return put(stream, Item{.name = "empty"}, std::move(waits));
    Ref<Ticket> const ticket =
        std::visit([&](auto const& work) { return queue(stream, work, std::move(waits)); }, step.node->body.work);
    return step.node->body.marks.empty() ? ticket : queue_marks(stream, step.node->body.marks);
  }

  Ref<Ticket> put(CUstream stream, Item item, std::vector<Ref<Ticket>> waits) {
    item.waits.insert(item.waits.end(), waits.begin(), waits.end());
    // Lanes are our own: to an observer the graph's work is the launch stream's.
    if (item.observed && stream->context == stream_->context) item.observed->stream = stream_->id;
    return engine_.enqueue(*stream, std::move(item));
  }

  Ref<Ticket> queue(CUstream stream, const Operation& operation, std::vector<Ref<Ticket>> waits) {
    if (auto const* const kernel = std::get_if<KernelOp>(&operation)) {
      if (CUresult const fault = fault_launch(driver_); fault != CUDA_SUCCESS) {
        KernelOp faulty = *kernel;
        faulty.fault = fault;
        return put(stream, make_item(driver_, Operation{std::move(faulty)}), std::move(waits));
      }
    }
    return put(stream, make_item(driver_, operation), std::move(waits));
  }

  Ref<Ticket> queue(CUstream stream, const EventWork& work, std::vector<Ref<Ticket>> waits) {
    Item item{.name = work.waits ? "wait event" : "event"};
    if (work.waits && work.event->ticket) item.waits.push_back(work.event->ticket);
    Ref<Ticket> ticket = put(stream, std::move(item), std::move(waits));
    if (work.waits) return ticket;
    work.event->capture.reset();
    work.event->captured_nodes.clear();
    work.event->ticket = ticket;
    return ticket;
  }

  Ref<Ticket> queue(CUstream stream, const BatchWork& work, std::vector<Ref<Ticket>> waits) {
    Ref<Ticket> ticket = put(stream, Item{.name = "batch"}, std::move(waits));
    for (auto const& params : work.operations) {
      WordOp word;
      // An address that is gone was right once: the work is skipped as after an unmap.
      if (word_of(driver_, params, &word) == CUDA_SUCCESS && word.address != 0)
        ticket = put(stream, make_item(driver_, Operation{word}), {});
    }
    return ticket;
  }

  Ref<Ticket> queue(CUstream stream, const AllocWork& work, std::vector<Ref<Ticket>> waits) {
    auto const& backing = exec_->backings[work.allocation->block->device];
    return put(stream, begin_life(driver_, work.allocation, backing, exec_->id), std::move(waits));
  }

  Ref<Ticket> queue(CUstream stream, const FreeWork& work, std::vector<Ref<Ticket>> waits) {
    auto const backing = work.allocation->backing;
    Ref<Ticket> ticket = put(stream, end_life(driver_, work.allocation), std::move(waits));
    // The end of this launch stands for its own; another executable graph's next launch has to wait for this free.
    if (work.allocation->executable != exec_->id) note_free(*backing, ticket, work.allocation->executable);
    return ticket;
  }

  // Only a step's node has a child graph, and the plan has unfolded it.
  Ref<Ticket> queue(CUstream stream, const ChildWork&, std::vector<Ref<Ticket>> waits) {
    return put(stream, Item{.name = "graph"}, std::move(waits));
  }

  // An allocator's blocks come and go at each launch as they did in the capture.
  Ref<Ticket> queue_marks(CUstream stream, const std::vector<MemoryOp>& marks) {
    Ref<Ticket> ticket;
    for (MemoryOp const& mark : marks) {
      if (driver_.checker != nullptr)
        driver_.checker->overlay(Checker::View::Host, mark.address, mark.bytes, mark.generation);
      ticket = put(stream, make_item(driver_, Operation{mark}), {});
    }
    return ticket;
  }

  void end() {
    Item item{.name = "graph end"};
    std::vector<bool> seen(streams_.size());
    for (std::size_t i = tickets_.size(); i-- > 0;) {
      std::size_t const lane = exec_->plan.steps[i].lane;
      if (!seen[lane] && streams_[lane] != stream_) item.waits.push_back(tickets_[i]);
      seen[lane] = true;
    }
    // The launch keeps the program's objects alive, whatever becomes of the executable graph.
    item.run_locked = true;
    item.run = [keep = exec_->user_objects] { return 0; };
    exec_->last = engine_.enqueue(*stream_, std::move(item));
    for (auto const& [device, backing] : exec_->backings) note_use(*backing, exec_->last, exec_->id);
  }

  Driver& driver_;
  Engine& engine_;
  CUgraphExec exec_;
  CUstream stream_;
  std::vector<CUstream> streams_;
  std::vector<Ref<Ticket>> waits_, tickets_;
  Ref<Ticket> start_;
};

CUresult capture_launch(Call& call, CUgraphExec exec, CUstream stream) {
  if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
  // Memory nodes cannot be cloned into a child graph.
  if (!exec->plan.memory.empty()) return capture_violated(call, stream);
  CUgraph const child = graph_of(call.driver, exec->snapshot);
  child->user_objects.add_all(*exec->user_objects);
  CUresult const result = capture_node(call, stream, {.work = ChildWork{.graph = child}});
  child->parent = stream->capture->tails[stream].nodes.front();
  return result;
}

}  // namespace

CUresult launch_graph(Call& call, CUgraphExec exec, CUstream stream) {
  if (is_capturing(stream)) return capture_launch(call, exec, stream);
  return Launch(call, exec, stream).run(call.lock);
}

CUresult upload_graph(Call& call, CUgraphExec exec, CUstream stream) {
  if (is_capturing(stream)) return capture_violated(call, stream);
  Item item{.name = "graph upload"};
  if (exec->last) item.waits.push_back(exec->last);
  for (auto const& [device, bytes] : exec->plan.backing) {
    // What a launch left alive keeps its memory: there is nothing to bring.
    auto& held = exec->backings[device];
    if (held != nullptr && held->alive != 0) continue;
    BackingRequest const request{.device = device, .bytes = bytes, .stream = stream, .executable = exec->id};
    if (!take_backing(call.driver, request, held, item.waits)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  exec->last = call.engine().enqueue(*stream, std::move(item));
  for (auto const& [device, backing] : exec->backings) note_use(*backing, exec->last, exec->id);
  call.engine().proceed(call.lock, *stream);
  return CUDA_SUCCESS;
}

}  // namespace tidemark::softgpu
