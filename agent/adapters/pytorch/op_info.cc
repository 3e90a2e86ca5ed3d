#include "agent/adapters/pytorch/op_info.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "agent/base/mutex.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {
namespace {

enum class Kind : uint8_t {
  UNINITIALIZED,
  MOVES_VALUES,
  FILLS,
  OVERWRITES,
  RESHAPES,
  AUXILIARY_RESULTS
};

struct Entry {
  Kind kind;
  std::string_view name;
};

constexpr Entry kEntries[] = {
#define UNINITIALIZED(op) {Kind::UNINITIALIZED, #op},
#define MOVES_VALUES(op) {Kind::MOVES_VALUES, #op},
#define FILLS(op) {Kind::FILLS, #op},
#define OVERWRITES(op) {Kind::OVERWRITES, #op},
#define RESHAPES(op) {Kind::RESHAPES, #op},
#define AUXILIARY_RESULTS(op) {Kind::AUXILIARY_RESULTS, #op},
#include "agent/adapters/pytorch/op_kinds.inc"
};

// Ignores a trailing underscore, which marks in-place ops. Called once per
// overload.
bool Is(Kind kind, std::string_view name) {
  if (name.size() > 1 && name.back() == '_') name.remove_suffix(1);
  return std::any_of(
      std::begin(kEntries), std::end(kEntries),
      [&](const Entry& e) { return e.kind == kind && e.name == name; });
}

bool HoldsTensors(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return true;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::ListType:
      return HoldsTensors(type->containedType(0));
    default:
      return false;
  }
}

void ReadSchema(const c10::FunctionSchema& schema, OpInfo* info) {
  for (const auto& value : schema.returns()) {
    if (HoldsTensors(value.type())) info->node = true;
    const c10::AliasInfo* const alias = value.alias_info();
    info->may_return_views |= alias != nullptr && !alias->isWrite();
  }
  info->argument_count = static_cast<uint32_t>(schema.arguments().size());
  info->return_count = static_cast<uint32_t>(schema.returns().size());
  info->returns_nothing = schema.returns().empty();
  for (const auto& argument : schema.arguments()) {
    const bool written =
        argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    const bool out_only = written && argument.kwarg_only();
    if (out_only) info->has_out = true;
    info->argument_names.push_back(argument.name());
    info->written.push_back(written);
    info->out_only.push_back(out_only);
    if (written && HoldsTensors(argument.type())) info->node = true;
    if (written && !out_only) info->in_place = true;
  }
}

// Collectives write to their first argument, but their schemas do not declare
// that.
void ReadCollective(const c10::FunctionSchema& schema, OpInfo* info) {
  info->collective = schema.name().rfind("c10d", 0) == 0 ||
                     schema.name().rfind("_c10d", 0) == 0;
  if (schema.name().rfind("c10d::", 0) != 0 || schema.name().back() != '_') {
    return;
  }
  info->in_place = true;
  if (!info->written.empty()) info->written[0] = true;
}

// Whether every PyTorch has the operator.
bool BelongsToPyTorch(const c10::FunctionSchema& schema) {
  constexpr std::string_view kNamespaces[] = {
      "aten", "mkl", "mkldnn", "onednn", "prims", "quantized", "sparse"};
  const std::string_view name = schema.name();
  const std::string_view space = name.substr(0, name.find(':'));
  return std::find(std::begin(kNamespaces), std::end(kNamespaces), space) !=
         std::end(kNamespaces);
}

void ReadKernels(const c10::OperatorHandle& op, OpInfo* info) {
  using c10::BackendComponent;
  using c10::DispatchKey;
  // Kernels of these two run on every backend instead of the composition.
  info->composite =
      op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
      !op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
      !op.hasKernelForDispatchKey(
          DispatchKey::CompositeExplicitAutogradNonFunctional);
  if (!info->composite) return;
  for (auto bit = static_cast<uint8_t>(BackendComponent::CPUBit);
       bit <= static_cast<uint8_t>(BackendComponent::EndOfBackendKeys); ++bit) {
    const DispatchKey dense = c10::toRuntimePerBackendFunctionalityKey(
        DispatchKey::Dense, static_cast<BackendComponent>(bit));
    if (op.hasKernelForDispatchKey(dense)) {
      info->backends_with_kernels |= uint64_t{1} << bit;
    }
  }
}

// All ops encountered so far. Entries are never removed, so pointers stay
// valid.
class OpRegistry {
 public:
  const OpInfo* Find(const c10::OperatorName& name) {
    MutexLock lock(&mu_);
    auto& info = ops_[c10::toString(name)];
    if (info == nullptr) info = Describe(name);
    return info.get();
  }

  const OpInfo* Region() {
    MutexLock lock(&mu_);
    auto& info = ops_["torch.compile"];
    if (info == nullptr) {
      info = std::make_unique<OpInfo>();
      info->full_name = "torch.compile";
      info->name = info->backward_name = Name("compiled_region");
      info->node = true;
      info->only_here = true;
      info->written = info->out_only = {false};
    }
    return info.get();
  }

 private:
  std::unique_ptr<OpInfo> Describe(const c10::OperatorName& name)
      GRAPHDBG_REQUIRES(mu_) {
    auto info = std::make_unique<OpInfo>();
    info->full_name = name.name;
    const std::string text = name.name.substr(name.name.rfind(':') + 1);
    info->name = Name(text);
    info->backward_name = Name(text == "add_" ? "add" : text);
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) return info;
    info->schema = &op->schema();
    info->random = op->hasTag(at::Tag::nondeterministic_seeded);
    ReadKernels(*op, info.get());
    ReadSchema(op->schema(), info.get());
    ReadCollective(op->schema(), info.get());
    if (Is(Kind::UNINITIALIZED, text)) info->flags |= GRAPHDBG_UNINITIALIZED;
    if (Is(Kind::MOVES_VALUES, text)) info->flags |= GRAPHDBG_MOVES_VALUES;
    if (Is(Kind::RESHAPES, text)) {
      info->in_place = false;
      info->written.assign(info->written.size(), false);
    }
    info->writes = std::find(info->written.begin(), info->written.end(),
                             true) != info->written.end();
    info->fills = Is(Kind::FILLS, text);
    info->overwrites = info->in_place && Is(Kind::OVERWRITES, text);
    info->only_here = info->collective || !BelongsToPyTorch(op->schema());
    info->has_auxiliary_results = Is(Kind::AUXILIARY_RESULTS, text);
    return info;
  }

  OpName Name(const std::string& text) GRAPHDBG_REQUIRES(mu_) {
    const auto next = static_cast<uint32_t>(name_ids_.size());
    return {text, name_ids_.emplace(text, next).first->second};
  }

  Mutex mu_;
  std::unordered_map<std::string, std::unique_ptr<OpInfo>> ops_
      GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_map<std::string, uint32_t> name_ids_ GRAPHDBG_GUARDED_BY(mu_);
};

OpRegistry& Registry() {
  // Never destroyed: threads may run ops during process exit.
  static OpRegistry* const registry = new OpRegistry;
  return *registry;
}

// A direct-mapped cache, which nearly always hits because the name of an
// operator's schema has a fixed address. The text is compared as well, because
// names of ranges are in temporary buffers. Overloads share the text but not
// the address.
struct CacheLine {
  const char* address = nullptr;
  const OpInfo* info = nullptr;
};
constexpr size_t kCacheSize = 1024;

size_t CacheIndex(const char* address) {
  return (reinterpret_cast<uintptr_t>(address) >> 4) % kCacheSize;
}

}  // namespace

const OpInfo* FindOp(const at::RecordFunction& fn) {
  thread_local std::array<CacheLine, kCacheSize> cache;
  const char* name = fn.name();
  CacheLine& line = cache[CacheIndex(name)];
  if (line.address == name && line.info->full_name == name) return line.info;
  // Operators have a namespace, most ranges do not.
  if (std::strstr(name, "::") == nullptr) return nullptr;
  const auto operator_name = fn.operator_name();
  if (!operator_name) return nullptr;
  const OpInfo* info = Registry().Find(*operator_name);
  line = {name, info};
  return info;
}

const OpInfo* FindOp(const c10::OperatorHandle& op) {
  thread_local std::array<CacheLine, kCacheSize> cache;
  // Part of the operator's definition, which has a fixed address.
  const c10::OperatorName& name = op.operator_name();
  const char* const address = reinterpret_cast<const char*>(&name);
  CacheLine& line = cache[CacheIndex(address)];
  if (line.address != address) line = {address, Registry().Find(name)};
  return line.info;
}

const OpInfo* CompiledRegion() {
  static const OpInfo* const region = Registry().Region();
  return region;
}

}  // namespace graphdbg::pytorch
