#include "agent/recording/message_files.h"

#include <array>
#include <utility>

#include "agent/recording/file.h"
#include "proto/runs/layout.h"
#include "proto/runs/message_file.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

// Per file.
constexpr size_t kMaxWaitingBytes = size_t{16} << 20;
// The graph is written in pieces of about this size.
constexpr size_t kWriteBytes = size_t{1} << 20;

}  // namespace

MessageFiles::MessageFiles(const std::string& directory,
                           TakeGraphUpdate take_graph_update)
    : take_graph_update_(std::move(take_graph_update)),
      graph_(Join(directory, runs::kGraphFile),
             runs::EncodeMessagesHeader(runs::MessageKind::kGraphUpdate)),
      hits_(Join(directory, runs::kHitsFile),
            runs::EncodeMessagesHeader(runs::MessageKind::kHit)),
      collections_(Join(directory, runs::kCollectionsFile), ""),
      op_times_(Join(directory, runs::kOpTimesFile),
                runs::EncodeMessagesHeader(runs::MessageKind::kOpTimes)),
      user_changes_(
          Join(directory, runs::kUserChangesFile),
          runs::EncodeMessagesHeader(runs::MessageKind::kUserChange)) {}

bool MessageFiles::Add(const std::string& message, std::string* waiting) {
  if (message.empty() || message.size() > runs::kMaxMessageBytes) return false;
  if (waiting->size() + message.size() > kMaxWaitingBytes) return false;
  runs::AppendMessage(message, waiting);
  return true;
}

uint64_t MessageFiles::AddHit(const v1::Hit& hit) {
  const std::string message = hit.SerializeAsString();
  MutexLock lock(&mu_);
  return Add(message, &new_hits_) ? ++hit_count_ : 0;
}

bool MessageFiles::AddOpTimes(const v1::OverviewStep& times) {
  const std::string message = times.SerializeAsString();
  MutexLock lock(&mu_);
  return Add(message, &new_op_times_);
}

bool MessageFiles::AddUserChange(const v1::UserChange& change) {
  const std::string message = change.SerializeAsString();
  MutexLock lock(&mu_);
  return Add(message, &new_user_changes_);
}

void MessageFiles::AddCollectionLine(absl::string_view line) {
  MutexLock lock(&mu_);
  new_lines_.append(line.data(), line.size());
  new_lines_ += '\n';
}

absl::Status MessageFiles::WriteGraph() {
  v1::GraphUpdate update;
  std::string framed;
  // A piece that could not be written is kept by the file, so none is lost.
  while (graph_.pending_bytes() < kWriteBytes && take_graph_update_(&update)) {
    framed.clear();
    runs::AppendMessage(update.SerializeAsString(), &framed);
    graph_.Add(framed);
    update.Clear();
    if (graph_.pending_bytes() >= kWriteBytes) RETURN_IF_ERROR(graph_.Write());
  }
  return graph_.Write();
}

absl::Status MessageFiles::Write() {
  MutexLock files_lock(&files_mu_);
  RETURN_IF_ERROR(WriteGraph());
  {
    MutexLock lock(&mu_);
    if (!new_hits_.empty()) hits_.Add(std::exchange(new_hits_, {}));
    if (!new_lines_.empty()) collections_.Add(std::exchange(new_lines_, {}));
    if (!new_op_times_.empty()) {
      op_times_.Add(std::exchange(new_op_times_, {}));
    }
    if (!new_user_changes_.empty()) {
      user_changes_.Add(std::exchange(new_user_changes_, {}));
    }
  }
  RETURN_IF_ERROR(hits_.Write());
  RETURN_IF_ERROR(op_times_.Write());
  RETURN_IF_ERROR(user_changes_.Write());
  return collections_.Write();
}

absl::Status MessageFiles::Sync() {
  std::array<File*, 5> files;
  {
    MutexLock lock(&files_mu_);
    files = {graph_.file(), hits_.file(), collections_.file(), op_times_.file(),
             user_changes_.file()};
  }
  for (File* file : files) {
    if (file != nullptr) RETURN_IF_ERROR(file->Sync());
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::recording
