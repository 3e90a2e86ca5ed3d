#include "agent/core/captures.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/wire/error.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

using Json = nlohmann::ordered_json;

// After so many failures, further ones are no longer logged.
constexpr uint32_t kMaxReportedFailures = 3;
constexpr size_t kMaxDue = 16;
constexpr size_t kMaxNameBytes = 120;

Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json Numbers(const google::protobuf::Map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = Number(value);
  return json;
}

Json StatisticsJson(const v1::Statistics& from) {
  const auto optional = [](bool has, double value) {
    return has ? Number(value) : Json();
  };
  return {{"count", from.count()},
          {"nan_count", from.nan_count()},
          {"pos_inf_count", from.pos_inf_count()},
          {"neg_inf_count", from.neg_inf_count()},
          {"zero_count", from.zero_count()},
          {"negative_count", from.negative_count()},
          {"positive_count", from.positive_count()},
          {"min", optional(from.has_min(), from.min())},
          {"max", optional(from.has_max(), from.max())},
          {"mean", optional(from.has_mean(), from.mean())},
          {"abs_mean", optional(from.has_abs_mean(), from.abs_mean())},
          {"abs_max", optional(from.has_abs_max(), from.abs_max())},
          {"variance", optional(from.has_variance(), from.variance())},
          {"l1", optional(from.has_l1(), from.l1())},
          {"l2", optional(from.has_l2(), from.l2())}};
}

// Characters that are safe in names of files.
std::string FileName(absl::string_view text) {
  std::string name(text.substr(0, kMaxNameBytes));
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '-' && c != '.') c = '_';
  }
  return name;
}

absl::Status CannotWrite(const std::string& path) {
  const int error = errno;
  return wire::MakeError(
      absl::StatusCode::kUnavailable, "cannot_write",
      absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path))
          .message());
}

absl::Status MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return CannotWrite(part);
    }
    if (end == std::string::npos) return absl::OkStatus();
  }
}

// Whether a watchpoint has only hits that come before the optimizer's step.
bool EndsBeforeOptimizer(const v1::NodeSelection& selection) {
  const auto is_before = [](const std::string& name) {
    return absl::StartsWith(name, "forward") ||
           absl::StartsWith(name, "backward");
  };
  const auto all_before = [&](const auto& names) {
    return std::all_of(names.begin(), names.end(), is_before);
  };
  if (!selection.nodes().empty() || !selection.scopes().empty() ||
      !selection.patterns().empty()) {
    return all_before(selection.nodes()) && all_before(selection.scopes()) &&
           all_before(selection.patterns());
  }
  return !selection.categories().empty() &&
         std::all_of(selection.categories().begin(),
                     selection.categories().end(), [](int category) {
                       return category == v1::NODE_CATEGORY_ACTIVATION ||
                              category == v1::NODE_CATEGORY_GRADIENT;
                     });
}

}  // namespace

void Captures::Start() {
  MutexLock lock(&mu_);
  UpdateTape();
}

void Captures::UpdateTape() {
  graphdbg_tape_mode mode = GRAPHDBG_TAPE_OFF;
  switch (parts_.config->bundles.tape) {
    case TapeSetting::kOff:
      break;
    case TapeSetting::kForwardBackward:
      mode = GRAPHDBG_TAPE_FORWARD_BACKWARD;
      break;
    case TapeSetting::kWholeStep:
      mode = GRAPHDBG_TAPE_WHOLE_STEP;
      break;
    case TapeSetting::kAuto:
      for (const auto& [id, watchpoint] : watched_) {
        mode = std::max(mode, EndsBeforeOptimizer(watchpoint.selection())
                                  ? GRAPHDBG_TAPE_FORWARD_BACKWARD
                                  : GRAPHDBG_TAPE_WHOLE_STEP);
      }
      // All that is wanted has been written.
      if (written_ >= parts_.config->bundles.keep) mode = GRAPHDBG_TAPE_OFF;
      break;
  }
  if (mode == tape_) return;
  tape_ = mode;
  parts_.host->SetTape(
      mode, static_cast<uint64_t>(parts_.config->bundles.tape_budget));
}

void Captures::Set(const v1::SetWatchpoint& watchpoint) {
  MutexLock lock(&mu_);
  if (watchpoint.capture() && watchpoint.enabled()) {
    watched_[watchpoint.id()] = watchpoint;
  } else {
    watched_.erase(watchpoint.id());
  }
  UpdateTape();
}

void Captures::Remove(uint32_t watchpoint) {
  MutexLock lock(&mu_);
  watched_.erase(watchpoint);
  UpdateTape();
}

void Captures::CaptureNext(uint32_t node, const std::string& cause) {
  if (node == 0) return;
  MutexLock lock(&mu_);
  awaited_[node] = cause;
  any_awaited_ = true;
}

void Captures::CheckAwaited(uint32_t node, uint64_t step) {
  MutexLock lock(&mu_);
  const auto found = awaited_.find(node);
  if (found == awaited_.end()) return;
  const Json hit = {{"condition", found->second},
                    {"node", parts_.nodes->InfoOf(node).name},
                    {"slot", 0},
                    {"step", step}};
  if (due_.size() < kMaxDue) {
    due_.push_back({node, 0, step,
                    hit.dump(-1, ' ', false, Json::error_handler_t::replace)});
    any_due_ = true;
  }
  awaited_.erase(found);
  any_awaited_ = !awaited_.empty();
}

void Captures::OnHit(const v1::Hit& hit) {
  if (hit.absorbed() || !hit.message().empty()) return;
  MutexLock lock(&mu_);
  const auto found = watched_.find(hit.watchpoint());
  if (found == watched_.end() || due_.size() == kMaxDue ||
      written_ + due_.size() >= parts_.config->bundles.keep) {
    return;
  }
  for (const Due& due : due_) {
    // Several watchpoints have hit the same value.
    if (due.node == hit.node_id() && due.slot == hit.slot() &&
        due.step == hit.step()) {
      return;
    }
  }
  due_.push_back({hit.node_id(), hit.slot(), hit.step(),
                  HitJson(hit, found->second.condition())});
  any_due_ = true;
}

std::string Captures::HitJson(const v1::Hit& hit,
                              const v1::Condition& condition) const {
  Json params = Numbers(condition.params());
  for (const auto& [name, text] : condition.text_params()) params[name] = text;
  const NodeTable::Info info = parts_.nodes->InfoOf(hit.node_id());
  const Json json = {
      {"watchpoint", hit.watchpoint()},
      {"rank", parts_.config->rank},
      {"step", hit.step()},
      {"node", info.name},
      {"slot", hit.slot()},
      {"op_type", info.op_type},
      {"order", hit.order()},
      {"condition", condition.id()},
      {"params", std::move(params)},
      {"actual", Numbers(hit.actual())},
      {"statistics", StatisticsJson(hit.statistics())},
      {"shape", std::vector<int64_t>(hit.type().shape().begin(),
                                     hit.type().shape().end())},
      {"source", hit.source().file().empty()
                     ? Json()
                     : Json{{"file", hit.source().file()},
                            {"line", hit.source().line()}}},
      {"error", hit.error().empty() ? Json() : Json(hit.error())}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

BundleSubject Captures::SubjectOf(uint32_t node, uint32_t slot,
                                  uint64_t step) const {
  BundleSubject subject;
  subject.node = node;
  subject.slot = slot;
  subject.step = step;
  subject.job = parts_.config->job;
  subject.rank = parts_.config->rank;
  subject.world_size = parts_.config->world_size;
  subject.environment = parts_.host->Environment();
  subject.training = parts_.host->Training();
  return subject;
}

void Captures::WriteAll(uint64_t step) {
  std::vector<Due> due;
  {
    MutexLock lock(&mu_);
    std::swap(due, due_);
    any_due_ = false;
  }
  for (const Due& each : due) {
    const absl::StatusOr<std::string> path =
        each.step == step
            ? Write(each)
            : absl::FailedPreconditionError("the step of the hit has ended");
    uint32_t failed = 0;
    {
      MutexLock lock(&mu_);
      if (path.ok()) {
        ++written_;
        UpdateTape();
      } else {
        failed = ++failed_;
      }
    }
    if (path.ok()) {
      parts_.notify(absl::StrCat("wrote ", *path));
    } else if (failed <= kMaxReportedFailures) {
      parts_.notify(
          absl::StrCat("wrote no bundle of a hit: ", path.status().message()));
    }
  }
}

absl::StatusOr<std::string> Captures::Write(const Due& due) {
  const BundleSettings& settings = parts_.config->bundles;
  RETURN_IF_ERROR(MakeDirectories(settings.directory));
  BundleSubject subject = SubjectOf(due.node, due.slot, due.step);
  subject.hit = due.hit;
  const std::string base = absl::StrCat(
      settings.directory, "/", FileName(subject.job), "-rank", subject.rank,
      absl::StrFormat("-step%06d-", due.step),
      FileName(parts_.nodes->InfoOf(due.node).name), ".", due.slot);
  const std::string part = absl::StrCat(base, ".", getpid(), ".part");
  const int file =
      open(part.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return CannotWrite(part);
  absl::Status status = parts_.writer->Write(subject, settings, file);
  if (close(file) != 0 && status.ok()) status = CannotWrite(part);
  for (int copy = 1; status.ok(); ++copy) {
    const std::string path = copy == 1
                                 ? absl::StrCat(base, ".graphdbg")
                                 : absl::StrCat(base, "-", copy, ".graphdbg");
    // Never replaces a file.
    if (link(part.c_str(), path.c_str()) == 0) {
      unlink(part.c_str());
      return path;
    }
    if (errno != EEXIST) status = CannotWrite(path);
  }
  unlink(part.c_str());
  return status;
}

}  // namespace graphdbg::agent
