// The side of ClientConnection that faces the job: how the process becomes a
// job, and which orders it receives.
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/mindspore/client_connection.h"

namespace graphdbg::mindspore {
namespace {

// Limit for concurrent jobs on the same device of one machine.
constexpr int kMaxDuplicateNames = 100;

}  // namespace

// The job's link to the client, for the duration of one attachment.
class ClientConnection::Link final : public jobs::AgentLink {
 public:
  Link(std::weak_ptr<ClientConnection> connection, uint64_t attachment_id)
      : connection_(std::move(connection)), attachment_id_(attachment_id) {}

  void Send(jobs::AgentOrder order) override {
    auto self = connection_.lock();
    if (self == nullptr) return;
    if (const auto* hits = std::get_if<jobs::HitsRecordedOrder>(&order)) {
      return self->OnHitsStored(attachment_id_, hits->through);
    }
    self->OnOrder(attachment_id_, order);
  }

  void Close(absl::Status status) override {
    if (auto self = connection_.lock()) self->OnClosed(attachment_id_, status);
  }

 private:
  const std::weak_ptr<ClientConnection> connection_;
  const uint64_t attachment_id_;
};

void ClientConnection::RequestAttachment() {
  if (attachment_ != Attachment::kNone || protocol_.terminated()) return;
  attachment_ = Attachment::kPending;
  ++attachment_id_;
  hello_ = Hello();
}

void ClientConnection::Attach(jobs::AgentHello hello, uint64_t attachment_id) {
  shared_->acceptor->Attach(
      std::move(hello), std::make_shared<Link>(weak_from_this(), attachment_id),
      [self = shared_from_this(),
       attachment_id](absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
        self->OnAttached(attachment_id, std::move(port));
      });
}

void ClientConnection::Detach() {
  ++attachment_id_;
  delivering_ = 0;
  if (attachment_ != Attachment::kRefused) attachment_ = Attachment::kNone;
  protocol_.set_attached(false);
  if (auto port = std::move(port_)) port->Closed();
}

void ClientConnection::Release(const absl::Status& reason) {
  attachment_ = Attachment::kRefused;
  protocol_.Release();
  if (!shared_->log) return;
  shared_->log(
      absl::StrCat("warning: a MindSpore job from ", AddressOf(peer_),
                   " continues without debugging: ", reason.message()));
}

jobs::AgentHello ClientConnection::Hello() const {
  jobs::AgentHello hello;
  hello.job = JobNameOf(*identity_);
  if (duplicate_names_ > 0) {
    absl::StrAppend(&hello.job, ".", duplicate_names_ + 1);
  }
  hello.framework = jobs::kUnverifiedFramework;
  hello.framework_version = ms_version_.empty() ? "1.0" : ms_version_;
  hello.host = identity_->host;
  hello.peer = AddressOf(peer_);
  hello.device = identity_->backend;
  if (!absl::SimpleAtoi(identity_->device, &hello.device_id)) {
    hello.device_id = 0;
  }
  hello.incarnation = incarnation_;
  hello.chooses_another_id = true;
  // The client is told the names of nodes.
  hello.selects = true;
  hello.unsupported = protocol_.unsupported();
  return hello;
}

void ClientConnection::OnAttached(
    uint64_t attachment_id,
    absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
  std::shared_ptr<jobs::AgentPort> stale;
  {
    Update update(this);
    if (attachment_id == attachment_id_) {
      HandleAttached(std::move(port));
    } else if (port.ok()) {
      stale = *std::move(port);
    }
  }
  if (stale != nullptr) stale->Closed();
}

void ClientConnection::HandleAttached(
    absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
  if (port.ok()) {
    attachment_ = Attachment::kAttached;
    port_ = *std::move(port);
    protocol_.set_attached(true);
    const bool wanted = protocol_.TakeGraphsWanted();
    if (std::exchange(ever_attached_, true) && wanted) ReportGraphs();
    return;
  }
  attachment_ = Attachment::kNone;
  if (port.status().code() == absl::StatusCode::kAlreadyExists &&
      ++duplicate_names_ < kMaxDuplicateNames) {
    return RequestAttachment();
  }
  Release(port.status());
}

// The graphs precede all reports that refer to them.
void ClientConnection::ReportGraphs() {
  protocol_.ReportGraphs(shared_->files->Graphs(incarnation_));
  std::vector<jobs::AgentReport> graphs = protocol_.TakeReports();
  backlog_.insert(backlog_.begin(), std::make_move_iterator(graphs.begin()),
                  std::make_move_iterator(graphs.end()));
}

// Each step may have thousands of hits, so this does not save the client's
// state: that is done when the client gets its next command.
void ClientConnection::OnHitsStored(uint64_t attachment_id, uint64_t through) {
  absl::MutexLock lock(&mu_);
  if (attachment_id == attachment_id_) protocol_.OnHitsStored(through);
}

void ClientConnection::OnOrder(uint64_t attachment_id,
                               const jobs::AgentOrder& order) {
  Update update(this);
  if (attachment_id != attachment_id_) return;
  protocol_.HandleOrder(order);
  Save();
}

void ClientConnection::OnClosed(uint64_t attachment_id,
                                const absl::Status& status) {
  Update update(this);
  if (attachment_id != attachment_id_) return;
  Release(status);
  Detach();
}

}  // namespace graphdbg::mindspore
