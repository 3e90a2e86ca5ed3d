#include "agent/core/collections.h"

#include <re2/re2.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::agent {
namespace {

using conditions::Category;

constexpr const char* kAll = "all";
constexpr const char* kWeights = "weights";
constexpr const char* kBiases = "biases";
constexpr const char* kGradients = "gradients";
constexpr const char* kLosses = "losses";
constexpr const char* kOptimizerState = "optimizer_state";
constexpr const char* kInputs = "inputs";
constexpr const char* kOutputs = "outputs";
constexpr const char* kLayers = "layers";

absl::string_view LabelOf(absl::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == absl::string_view::npos ? name : name.substr(slash + 1);
}

const char* ToString(graphdbg_node_kind kind) {
  switch (kind) {
    case GRAPHDBG_OP:
      return "op";
    case GRAPHDBG_PARAMETER:
      return "parameter";
    case GRAPHDBG_BUFFER:
      return "buffer";
    case GRAPHDBG_CONSTANT:
      return "constant";
    case GRAPHDBG_INPUT:
      return "input";
  }
  return "";
}

bool Contains(const std::vector<std::string>& list, absl::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

using Patterns = std::vector<std::unique_ptr<RE2>>;

Patterns CompileAll(const std::vector<std::string>& expressions,
                    const std::string& key,
                    std::vector<std::string>* problems) {
  Patterns patterns;
  for (const std::string& expression : expressions) {
    auto pattern = std::make_unique<RE2>(expression, RE2::Quiet);
    if (pattern->ok()) {
      patterns.push_back(std::move(pattern));
    } else {
      problems->push_back(
          absl::StrCat("ignored ", key, ": '", expression,
                       "' is no regular expression: ", pattern->error()));
    }
  }
  return patterns;
}

bool FoundIn(const Patterns& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& each) {
    return RE2::PartialMatch(name, *each);
  });
}

// A line of collections.jsonl.
std::string LineOf(const std::string& collection,
                   const std::vector<uint32_t>& nodes) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const uint32_t node : nodes) tensors.push_back({node, 0});
  return nlohmann::ordered_json{{"collection", collection},
                                {"tensors", tensors}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool IsLoss(const NodeTable::Scope& scope) {
  return absl::EndsWith(scope.type, "Loss");
}

}  // namespace

struct Collections::Compiled {
  const CollectionSettings* settings;
  Patterns include;
  Patterns exclude;
  // Absent if the settings name no nodes, scopes, patterns and categories.
  std::optional<conditions::NodeMatcher> matcher;

  // In addition to the nodes that the collection's name selects.
  bool Lists(const NodeTable::Info& info) const {
    return FoundIn(include, info.name) ||
           Contains(settings->op_types, info.op_type) ||
           Contains(settings->kinds, ToString(info.kind)) ||
           (matcher && matcher->Matches({info.name, info.category}));
  }
};

Collections::Collections(const NodeTable* nodes, const RecordSettings* settings,
                         std::vector<std::string>* problems)
    : nodes_(nodes) {
  MutexLock lock(&mu_);
  for (const CollectionSettings& each : settings->collections) {
    Append(Compile(&each, problems));
  }
}

std::unique_ptr<Collections::Compiled> Collections::Compile(
    const CollectionSettings* settings, std::vector<std::string>* problems) {
  const std::string& name = settings->name;
  auto compiled = std::make_unique<Compiled>();
  compiled->settings = settings;
  compiled->include = CompileAll(settings->include,
                                 absl::StrCat("include of ", name), problems);
  compiled->exclude = CompileAll(settings->exclude,
                                 absl::StrCat("exclude of ", name), problems);
  if (!settings->nodes.everything()) {
    compiled->matcher.emplace(settings->nodes);
  }
  return compiled;
}

CollectionMask Collections::Append(std::unique_ptr<Compiled> compiled) {
  const CollectionMask bit = CollectionMask{1} << compiled_.size();
  const CollectionSettings& settings = *compiled->settings;
  compiled_.push_back(std::move(compiled));
  if (settings.level != RecordLevel::kOff) bits_[settings.name] |= bit;
  CollectionMask by_graph =
      Bit(kLayers) | Bit(kOutputs) | Bit(kLosses) | Bit(kOptimizerState);
  for (size_t i = 0; i < compiled_.size(); ++i) {
    const CollectionSettings& each = *compiled_[i]->settings;
    if (!each.read_by.empty() && each.level != RecordLevel::kOff) {
      by_graph |= CollectionMask{1} << i;
    }
  }
  by_graph_ = by_graph;
  selected_.resize(compiled_.size());
  return bit;
}

absl::StatusOr<CollectionMask> Collections::Add(
    std::vector<CollectionSettings> added) {
  MutexLock lock(&mu_);
  if (compiled_.size() + added.size() > kMaxCollections) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", compiled_.size(), " collections, and ",
                     added.size(), " more would exceed ", kMaxCollections));
  }
  std::vector<std::unique_ptr<Compiled>> compiled;
  std::vector<std::string> problems;
  for (CollectionSettings& each : added) {
    added_.push_back(std::move(each));
    compiled.push_back(Compile(&added_.back(), &problems));
  }
  if (!problems.empty()) {
    for (size_t i = 0; i < compiled.size(); ++i) added_.pop_back();
    return absl::InvalidArgumentError(problems.front());
  }
  CollectionMask bits = 0;
  for (auto& each : compiled) bits |= Append(std::move(each));
  return bits;
}

Collections::~Collections() = default;

CollectionMask Collections::Bit(const char* predefined) const {
  const auto found = bits_.find(predefined);
  return found == bits_.end() ? 0 : found->second;
}

CollectionMask Collections::ReadBy(const std::string& op_type) const {
  CollectionMask found = 0;
  for (size_t i = 0; i < compiled_.size(); ++i) {
    if (Contains(compiled_[i]->settings->read_by, op_type)) {
      found |= CollectionMask{1} << i;
    }
  }
  return found;
}

CollectionMask Collections::Declared(const Compiled& collection,
                                     CollectionMask bit,
                                     const NodeTable::Info& info) const {
  const std::string& name = collection.settings->name;
  bool selected = collection.Lists(info) || name == kAll;
  if (info.kind == GRAPHDBG_PARAMETER) {
    const bool bias = absl::StrContains(LabelOf(info.name), "bias");
    selected |= name == (bias ? kBiases : kWeights);
  }
  selected |= info.kind == GRAPHDBG_INPUT && name == kInputs;
  // Autograd accumulates a gradient on behalf of its parameter.
  selected |= name == kGradients && info.category == Category::kGradient &&
              info.forward_node != 0 &&
              nodes_->InfoOf(info.forward_node).kind == GRAPHDBG_PARAMETER;
  return selected && !FoundIn(collection.exclude, info.name) ? bit : 0;
}

CollectionMask Collections::AddNode(uint32_t node) {
  const NodeTable::Info info = nodes_->InfoOf(node);
  MutexLock lock(&mu_);
  losses_are_declared_ |= info.loss;
  CollectionMask selected = 0;
  CollectionMask undecided = 0;
  for (size_t i = 0; i < compiled_.size(); ++i) {
    const CollectionMask bit = CollectionMask{1} << i;
    if (compiled_[i]->settings->level == RecordLevel::kOff) continue;
    selected |= Declared(*compiled_[i], bit, info);
    if ((by_graph_ & bit) != 0 && !FoundIn(compiled_[i]->exclude, info.name)) {
      undecided |= bit;
    }
  }
  const bool in_optimizer = info.category == Category::kOptimizer;
  undecided &= in_optimizer ? Bit(kOptimizerState) : ~Bit(kOptimizerState);
  if (info.kind != GRAPHDBG_OP || info.category == Category::kGradient) {
    undecided = 0;
  }
  Member& member = members_.Grow(node);
  undecided &= ~member.considered;
  member.considered |= undecided;
  undecided |= member.undecided;
  member.undecided = undecided;
  member.in_optimizer = in_optimizer;
  Select(node, selected, 0);
  return selected | undecided;
}

void Collections::AddSaved(uint32_t node, absl::string_view collection) {
  const std::string name(collection);
  MutexLock lock(&mu_);
  const auto found = bits_.find(name);
  const CollectionMask without_settings =
      name == kMetricsCollection ? kSavedStatistics : kSavedTensors;
  const CollectionMask bit =
      found == bits_.end() ? without_settings : found->second;
  if ((Of(node, 0) & bit) != 0) return;
  members_.Grow(node).undecided = 0;
  Select(node, 0, bit);
  if (found == bits_.end()) saved_[name].push_back(node);
}

void Collections::Select(uint32_t node, CollectionMask all_slots,
                         CollectionMask first_slot) {
  Member& member = members_.Grow(node);
  const CollectionMask before = member.all_slots | member.first_slot;
  member.all_slots |= all_slots;
  member.first_slot |= first_slot;
  const CollectionMask added = (all_slots | first_slot) & ~before;
  used_ |= added;
  for (size_t i = 0; i < selected_.size(); ++i) {
    if ((added >> i & 1) == 0) continue;
    // Another collection of the same name may have it.
    const CollectionMask others =
        before | (added & ((CollectionMask{1} << i) - 1));
    const auto same = bits_.find(compiled_[i]->settings->name);
    if (same != bits_.end() && (others & same->second) != 0) continue;
    selected_[i].push_back(node);
  }
}

CollectionMask Collections::Of(uint32_t node, uint32_t slot) const {
  const Member* const member = members_.Find(node);
  if (member == nullptr) return 0;
  const CollectionMask all = member->all_slots.load(std::memory_order_relaxed);
  return slot == 0 ? all | member->first_slot.load(std::memory_order_relaxed)
                   : all;
}

CollectionMask Collections::Undecided(uint32_t node) const {
  const Member* const member = members_.Find(node);
  return member == nullptr ? 0
                           : member->undecided.load(std::memory_order_relaxed);
}

bool Collections::InOptimizer(uint32_t node) const {
  const Member* const member = members_.Find(node);
  return member != nullptr &&
         member->in_optimizer.load(std::memory_order_relaxed);
}

void Collections::Observe(const Execution& execution, uint64_t pass) {
  if (by_graph_ == 0) return;
  const NodeTable::Info info = nodes_->InfoOf(execution.node);
  const NodeTable::Scope scope = nodes_->ScopeOf(execution.node);
  execution.inputs.Describe();
  MutexLock lock(&mu_);
  if (Undecided(execution.node) != 0) {
    observed_[execution.node].executed = true;
  }
  const bool of_model =
      info.category == Category::kActivation && !IsLoss(scope);
  const CollectionMask readers = ReadBy(info.op_type);
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    const uint32_t producer = execution.inputs[i].node;
    if (producer == 0 || Undecided(producer) == 0) continue;
    Observed& observed = observed_[producer];
    if (execution.inputs[i].slot == 0) observed.readers |= readers;
    observed.read_by_model |= of_model;
    observed.read_in_scope |= info.category == Category::kActivation &&
                              nodes_->ScopeOf(producer).name == scope.name;
  }
  if (info.category == Category::kGradient && pass != last_pass_) {
    last_pass_ = pass;
    // In later steps, the first op of the pass may not be followed.
    const auto forward = observed_.find(info.forward_node);
    if (forward != observed_.end()) forward->second.starts_backward = true;
  }
  if (Undecided(execution.node) == 0) return;
  Observed& observed = observed_[execution.node];
  observed.no_result |= execution.has(GRAPHDBG_UNINITIALIZED);
  if (!execution.has(GRAPHDBG_IN_PLACE) || execution.inputs.size() == 0) return;
  const uint32_t written = execution.inputs[0].node;
  const graphdbg_node_kind kind =
      written == 0 ? GRAPHDBG_OP : nodes_->InfoOf(written).kind;
  observed.no_result |= kind == GRAPHDBG_BUFFER || kind == GRAPHDBG_PARAMETER;
  observed.writes_state |=
      info.category == Category::kOptimizer && kind != GRAPHDBG_PARAMETER;
}

CollectionMask Collections::DecideOne(uint32_t node,
                                      const Observed& observed) const {
  const NodeTable::Info info = nodes_->InfoOf(node);
  const NodeTable::Scope scope = nodes_->ScopeOf(node);
  const bool activation =
      info.category == Category::kActivation && !observed.no_result;
  const bool result = activation && !observed.read_in_scope;
  CollectionMask selected = observed.readers;
  if (result && scope.leaf) selected |= Bit(kLayers);
  // Where ops run in parallel, the first gradient need not be that of the loss.
  const bool starts_backward =
      observed.starts_backward && !losses_are_declared_;
  if (info.loss || starts_backward || (result && IsLoss(scope))) {
    selected |= Bit(kLosses);
  } else if (activation && !observed.read_by_model) {
    selected |= Bit(kOutputs);
  }
  if (observed.writes_state) selected |= Bit(kOptimizerState);
  return selected & Undecided(node);
}

void Collections::Decide(
    const std::function<void(uint32_t node, CollectionMask)>& decided) {
  MutexLock lock(&mu_);
  for (const auto& [node, observed] : observed_) {
    if (!observed.executed) continue;
    const CollectionMask selected = DecideOne(node, observed);
    members_.Find(node)->undecided = 0;
    Select(node, 0, selected);
    decided(node, Of(node, 0));
  }
  observed_.clear();
}

std::vector<std::string> Collections::TakeLines() {
  std::vector<std::string> lines;
  MutexLock lock(&mu_);
  for (size_t i = 0; i < selected_.size(); ++i) {
    if (selected_[i].empty()) continue;
    lines.push_back(LineOf(compiled_[i]->settings->name, selected_[i]));
    selected_[i].clear();
  }
  for (const auto& [name, nodes] : saved_) lines.push_back(LineOf(name, nodes));
  saved_.clear();
  return lines;
}

std::vector<const CollectionSettings*> Collections::EmptyOnes() const {
  std::vector<const CollectionSettings*> empty;
  MutexLock lock(&mu_);
  for (size_t i = 0; i < compiled_.size(); ++i) {
    const CollectionSettings& settings = *compiled_[i]->settings;
    if (settings.level != RecordLevel::kOff && (used_ >> i & 1) == 0) {
      empty.push_back(&settings);
    }
  }
  return empty;
}

}  // namespace graphdbg::agent
