#include "server/runs/user_changes.h"

#include <cstddef>
#include <utility>

#include "proto/wire/limits.h"

namespace graphdbg::recorded {
namespace {

constexpr size_t kMaxChanges = 1'000;

}  // namespace

absl::Status UserChanges::Update(const Folder& folder) {
  absl::Status problem;
  const absl::Status read = file_.Poll(folder, [&](absl::string_view message) {
    const absl::Status added = Add(message);
    if (problem.ok()) problem = added;
  });
  return problem.ok() ? read : problem;
}

absl::Status UserChanges::Add(absl::string_view message) {
  if (list_.size() >= kMaxChanges) return absl::OkStatus();
  v1::UserChange change;
  if (!change.ParseFromArray(message.data(),
                             static_cast<int>(message.size())) ||
      change.by().size() > wire::kMaxNameBytes ||
      change.text().size() > wire::kMaxTextBytes) {
    return absl::DataLossError("a message cannot be decoded");
  }
  list_.push_back(std::move(change));
  return absl::OkStatus();
}

}  // namespace graphdbg::recorded
