#include "agent/adapters/pytorch/host_calls.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "agent/adapters/pytorch/adapter.h"
#include "agent/adapters/pytorch/bundle_tape.h"
#include "agent/adapters/pytorch/changes.h"
#include "agent/adapters/pytorch/device_streams.h"

namespace graphdbg::pytorch {
namespace {

void Retain(void*, void* owner) {
  c10::raw::intrusive_ptr::incref(static_cast<c10::StorageImpl*>(owner));
}

std::atomic<bool> leaks_storages{false};

void Release(void*, void* owner) {
  if (leaks_storages.load(std::memory_order_relaxed)) return;
  c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(owner));
}

void* BeginWait(void*) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  return python == nullptr ? nullptr : python->begin_wait();
}

void EndWait(void*, void* token) {
  // Even during finalization, the thread has to reacquire the interpreter's
  // lock.
  if (token != nullptr) Adapter::Get().end_wait(token);
}

int Interrupted(void*, void* token) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  return python != nullptr && token != nullptr ? python->interrupted(token) : 0;
}

int Resolve(void*, void* bound, graphdbg_tensor* out, int64_t* shape,
            int64_t* strides) {
  return Adapter::Get().graph().bound().Resolve(bound, out, shape, strides);
}

void SetLevelOf(void*, int level) { Adapter::Get().SetLevel(level); }

void DescribeView(const BundleTape& tape, graphdbg_tensor* out) {
  const NamedDtype dtype = DtypeOf(tape.expected_dtype);
  out->dtype = dtype.dtype;
  out->framework_dtype = dtype.name;
  out->device = DeviceOf(tape.expected_device.type());
  out->device_id =
      tape.expected_device.has_index() ? tape.expected_device.index() : 0;
  out->data = static_cast<const char*>(std::as_const(*tape.expected).data()) +
              tape.expected_offset *
                  static_cast<int64_t>(c10::elementSize(tape.expected_dtype));
  out->ndim = static_cast<uint32_t>(tape.expected_sizes.size());
  out->shape = tape.expected_sizes.data();
  out->strides = tape.expected_strides.data();
  out->storage_id = reinterpret_cast<uintptr_t>(tape.expected.get());
  out->owner = tape.expected.get();
}

size_t CaptureStackOf(void*, graphdbg_source_frame* out, size_t max) {
  const SourceStack stack =
      Adapter::Get().CaptureStack(CurrentThread().placement);
  const size_t depth = std::min(max, stack.size());
  std::copy_n(stack.begin(), depth, out);
  return depth;
}

void* CurrentStreamOf(void*, graphdbg_device device, int32_t device_id) {
  // Exceptions must not propagate into the agent.
  try {
    return CurrentStream(device, device_id);
  } catch (const std::exception&) {
    return nullptr;
  }
}

int PlaceOf(void*, uint32_t* rank, uint32_t* world_size) {
  return Adapter::Get().GetPlace(rank, world_size) ? 0 : 1;
}

// Memory in the form of the agent's interface.
struct Leaves {
  explicit Leaves(const std::vector<BundleTape::Leaf>& from) {
    for (const BundleTape::Leaf& leaf : from) {
      graphdbg_tensor bytes = {};
      bytes.struct_size = sizeof(bytes);
      bytes.dtype = GRAPHDBG_UINT8;
      bytes.device = DeviceOf(leaf.device.type());
      bytes.device_id = leaf.device.has_index() ? leaf.device.index() : 0;
      bytes.data =
          static_cast<const char*>(std::as_const(*leaf.storage).data()) +
          leaf.begin;
      bytes.ndim = 1;
      bytes.shape = &leaf.bytes;
      bytes.storage_id = reinterpret_cast<uintptr_t>(leaf.storage.get());
      bytes.owner = leaf.storage.get();
      tensors.push_back(bytes);
      names.push_back(leaf.name.c_str());
    }
  }

  std::vector<graphdbg_tensor> tensors;
  std::vector<const char*> names;
};

// Passes on a tape in the form of the agent's interface.
void GiveTape(const BundleTape& tape,
              void (*take)(void* context, const graphdbg_tape* tape),
              void* context) {
  graphdbg_tape out = {};
  out.struct_size = sizeof(out);
  if (!tape.error.empty()) {
    out.error = tape.error.c_str();
    out.reason = tape.reason.c_str();
    return take(context, &out);
  }
  const Leaves leaves(tape.leaves);
  const Leaves random(tape.random);
  out.text = tape.text.c_str();
  out.leaves = leaves.tensors.data();
  out.leaf_names = leaves.names.data();
  out.leaf_count = leaves.tensors.size();
  out.whole_step = tape.whole_step ? 1 : 0;
  if (!tape.why_not_step.empty()) {
    out.why_not_step = tape.why_not_step.c_str();
  }
  out.random = random.tensors.data();
  out.random_names = random.names.data();
  out.random_count = random.tensors.size();
  graphdbg_tensor expected = {};
  if (tape.expected != nullptr) {
    expected.struct_size = sizeof(expected);
    DescribeView(tape, &expected);
    out.expected = &expected;
  }
  take(context, &out);
}

void CaptureOf(void*, uint32_t node, uint32_t slot, uint32_t upstream,
               void (*take)(void* context, const graphdbg_tape* tape),
               void* context) {
  GraphState& graph = Adapter::Get().graph();
  const auto describe = [&](uint32_t each) { return graph.Describe(each); };
  BundleTape tape;
  // Exceptions must not propagate into the agent.
  try {
    tape = graph.tape().Use([&](const Tape::Content& content) {
      return CutTape(content, node, slot, upstream, describe);
    });
  } catch (const std::exception& error) {
    tape.reason = "not_repeatable";
    tape.error = error.what();
  }
  if (tape.reason == kInputOverwritten) graph.tape().Arm(node);
  GiveTape(tape, take, context);
}

const char* EnvironmentOf(void*) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  return python != nullptr && python->environment != nullptr
             ? python->environment()
             : nullptr;
}

void SetTapeOf(void*, graphdbg_tape_mode mode, uint64_t budget) {
  Adapter::Get().graph().tape().SetMode(mode, budget);
}

const char* TrainingOf(void*) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  return python != nullptr && python->training != nullptr ? python->training()
                                                          : nullptr;
}

// The text that the agent got last; see graphdbg_host.experiment. Its thread.
std::string& LastText() {
  static auto* const text = new std::string;
  return *text;
}

// Runs `body`, which returns a text or throws, for a callback of the agent.
template <typename Body>
int TextOrReason(const char** text, Body body) {
  int result = 0;
  try {
    LastText() = body();
  } catch (const c10::Error& error) {
    LastText() = error.what_without_backtrace();
    result = 1;
  } catch (const std::exception& error) {
    LastText() = error.what();
    result = 1;
  }
  *text = LastText().c_str();
  return result;
}

int ExperimentOf(void*, int bundle, const char* experiments,
                 const char** text) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  if (python != nullptr && python->experiment != nullptr) {
    return python->experiment(bundle, experiments, text);
  }
  *text = "this needs a program in Python";
  return 1;
}

int AssignOf(void*, const graphdbg_tensor* view, const double* values,
             size_t count, const char** text) {
  return TextOrReason(text, [&] {
    AssignValues(*view, values, count);
    return std::string();
  });
}

std::string RestoreStepOf(Adapter& adapter) {
  if (!adapter.at_step_end()) {
    throw std::runtime_error(
        "a step can be taken back at its end: continue with step");
  }
  const size_t count = adapter.graph().tape().Use(
      [](const Tape::Content& content) { return RestoreStep(content); });
  return std::to_string(count) +
         " tensors have the values again that they had before this step";
}

int ChangeOf(void*, const graphdbg_change* change, const char** text) {
  if (change->kind == GRAPHDBG_RESTORE_STEP) {
    return TextOrReason(text, [] { return RestoreStepOf(Adapter::Get()); });
  }
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  if (python != nullptr && python->change != nullptr) {
    return python->change(change, text);
  }
  *text = "this needs a program in Python";
  return 1;
}

}  // namespace

void LeakStorages() { leaks_storages = true; }

graphdbg_host HostCalls() {
  graphdbg_host host = {};
  host.struct_size = sizeof(host);
  host.retain = Retain;
  host.release = Release;
  host.begin_wait = BeginWait;
  host.end_wait = EndWait;
  host.interrupted = Interrupted;
  host.resolve = Resolve;
  host.set_level = SetLevelOf;
  host.capture_stack = CaptureStackOf;
  host.current_stream = CurrentStreamOf;
  host.place = PlaceOf;
  host.capture = CaptureOf;
  host.environment = EnvironmentOf;
  host.set_tape = SetTapeOf;
  host.training = TrainingOf;
  host.experiment = ExperimentOf;
  host.assign = AssignOf;
  host.change = ChangeOf;
  return host;
}

}  // namespace graphdbg::pytorch
