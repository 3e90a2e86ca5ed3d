#include "server/mindspore/client_connection.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "proto/wire/utf8.h"
#include "server/base/error.h"
#include "server/mindspore/random_id.h"

namespace graphdbg::mindspore {
namespace {

constexpr size_t kMaxVersionBytes = 100;
// The number of heartbeats that may be missing.
constexpr int kSilentPeriods = 3;
constexpr size_t kMaxHitsAtOnce = 1'000;

size_t HashOf(const debugger::GraphProto& graph) {
  return std::hash<std::string>()(graph.SerializeAsString());
}

bool IsHit(const jobs::AgentReport& report) {
  return std::holds_alternative<jobs::HitReport>(report);
}

}  // namespace

ClientConnection::ClientConnection(std::shared_ptr<const Shared> shared,
                                   std::string peer)
    : shared_(std::move(shared)),
      incarnation_(RandomId()),
      peer_(std::move(peer)),
      protocol_(shared_->now_unix_nano) {
  protocol_.tensors().set_memory(shared_->memory);
}

ClientConnection::ClientConnection(std::shared_ptr<const Shared> shared,
                                   const SavedClient& saved)
    : shared_(std::move(shared)),
      incarnation_(saved.incarnation()),
      identity_(Identity{saved.host(), saved.device(), saved.backend()}),
      ms_version_(saved.protocol().ms_version()),
      protocol_(shared_->now_unix_nano),
      saved_(saved.SerializeAsString()),
      disconnected_(true),
      disconnected_since_(shared_->now_unix_nano()),
      ever_attached_(true),
      duplicate_names_(saved.duplicate_names()) {
  const auto graphs = shared_->files->Graphs(incarnation_);
  for (const auto& graph : graphs) saved_graphs_.insert(HashOf(graph));
  protocol_.tensors().set_memory(shared_->memory);
  protocol_.Restore(saved.protocol(), graphs);
}

// --- Updates -----------------------------------------------------------------

ClientConnection::Update::~Update() {
  FollowUp follow_up = connection_->FinishUpdate();
  connection_->mu_.Unlock();
  connection_->Run(std::move(follow_up));
}

ClientConnection::FollowUp ClientConnection::FinishUpdate() {
  FollowUp follow_up;
  DeliverReports();
  follow_up.call = TakeAnswerable(follow_up.reply);
  // The reply may have resulted in more reports.
  DeliverReports();
  if (follow_up.call != nullptr) Save();
  follow_up.hello = std::exchange(hello_, std::nullopt);
  follow_up.attachment_id = attachment_id_;
  return follow_up;
}

void ClientConnection::Run(FollowUp follow_up) {
  if (follow_up.call != nullptr) follow_up.call->Answer(follow_up.reply);
  if (follow_up.hello) {
    Attach(*std::move(follow_up.hello), follow_up.attachment_id);
  }
}

std::shared_ptr<WaitCall> ClientConnection::TakeAnswerable(
    debugger::EventReply& reply) {
  if (waiting_ == nullptr) return nullptr;
  // The client continues when its reports have been stored, so that at most the
  // hits of one step exist only in memory.
  const bool stored = delivering_ == 0 && backlog_.empty();
  if (attachment_ == Attachment::kAttached && !stored) return nullptr;
  auto next = protocol_.Next();
  if (!next) return nullptr;
  reply = *std::move(next);
  RecordActivity();
  return std::move(waiting_);
}

void ClientConnection::DeliverReports() {
  for (jobs::AgentReport& report : protocol_.TakeReports()) {
    backlog_.push_back(std::move(report));
  }
  if (attachment_ == Attachment::kRefused) backlog_.clear();
  if (port_ == nullptr) return;
  const bool ends = disconnected_ || protocol_.terminated();
  if (backlog_.empty() && delivering_ == 0 && ends) return Detach();
  while (!backlog_.empty() && CanDeliver()) {
    jobs::AgentReport report = std::move(backlog_.front());
    backlog_.pop_front();
    ++delivering_;
    delivering_hits_ = IsHit(report);
    port_->Deliver(
        std::move(report),
        [self = shared_from_this(), attachment_id = attachment_id_](
            absl::Status status) { self->OnDelivered(attachment_id, status); });
  }
}

// The job writes hits to disk before it has processed them. Many hits may
// therefore be in progress at once, but later reports must wait for them.
bool ClientConnection::CanDeliver() const {
  if (delivering_ == 0) return true;
  return delivering_hits_ && delivering_ < kMaxHitsAtOnce &&
         IsHit(backlog_.front());
}

void ClientConnection::OnDelivered(uint64_t attachment_id,
                                   const absl::Status& status) {
  Update update(this);
  if (attachment_id != attachment_id_) return;
  --delivering_;
  if (status.ok() || ReasonOf(status) == "not_kept" || !shared_->log) return;
  shared_->log(
      absl::StrCat("warning: a report from a MindSpore job was "
                   "rejected: ",
                   status.message()));
}

void ClientConnection::Save() {
  // The effects of a disconnect are reverted when the client reconnects.
  if (disconnected_ || !identity_) return;
  if (protocol_.terminated() || attachment_ == Attachment::kRefused) {
    if (!saved_.empty()) shared_->files->Remove(incarnation_);
    saved_.clear();
    return;
  }
  SavedClient client;
  client.set_incarnation(incarnation_);
  client.set_host(identity_->host);
  client.set_device(identity_->device);
  client.set_backend(identity_->backend);
  client.set_duplicate_names(duplicate_names_);
  *client.mutable_protocol() = protocol_.Save();
  std::string bytes = client.SerializeAsString();
  if (bytes == saved_) return;
  if (shared_->files->Save(incarnation_, bytes)) saved_ = std::move(bytes);
}

// --- Calls from the client ---------------------------------------------------

void ClientConnection::Identify(const debugger::Metadata& metadata) {
  disconnected_ = false;
  RecordActivity();
  if (!identity_) identity_ = IdentityOf(metadata, peer_);
}

void ClientConnection::RecordActivity() {
  last_activity_steady_nano_ = shared_->steady_nano();
}

void ClientConnection::OnMetadata(const debugger::Metadata& metadata) {
  Update update(this);
  Identify(metadata);
  ms_version_ = wire::ToValidUtf8(metadata.ms_version(), kMaxVersionBytes);
  protocol_.OnMetadata(metadata);
  RequestAttachment();
  Save();
}

void ClientConnection::OnGraphs(std::vector<debugger::GraphProto> graphs) {
  Update update(this);
  RecordActivity();
  for (const debugger::GraphProto& graph : graphs) {
    if (!saved_graphs_.insert(HashOf(graph)).second) continue;
    shared_->files->AddGraph(incarnation_, graph);
  }
  protocol_.OnGraphs(graphs);
  Save();
}

void ClientConnection::OnHits(std::vector<debugger::WatchpointHit> hits) {
  Update update(this);
  RecordActivity();
  for (debugger::WatchpointHit& hit : hits) protocol_.OnHit(std::move(hit));
  Save();
}

void ClientConnection::OnTensors(
    const std::function<void(TensorFetcher&)>& take) {
  Update update(this);
  RecordActivity();
  take(protocol_.tensors());
}

void ClientConnection::OnWait(std::shared_ptr<WaitCall> call,
                              const debugger::Metadata& metadata) {
  std::shared_ptr<WaitCall> previous;
  {
    Update update(this);
    Identify(metadata);
    previous = std::exchange(waiting_, call);
    protocol_.OnWait(metadata);
    RequestAttachment();
    Save();
  }
  // A client has only one such call at a time, so the previous one was lost.
  if (previous != nullptr) previous->Answer({});
}

void ClientConnection::OnDone(const debugger::Metadata& metadata) {
  Update update(this);
  disconnected_ = false;
  RecordActivity();
  // After a restart of the server, the client may end before it has waited for
  // a command.
  if (identity_) RequestAttachment();
  protocol_.OnDone(metadata);
  Save();
}

void ClientConnection::OnHeartbeat(std::chrono::seconds period) {
  Update update(this);
  heartbeat_period_ = period;
  RecordActivity();
  if (!disconnected_ || !identity_) return;
  // The client was slow, but it is still connected.
  disconnected_ = false;
  protocol_.OnHeartbeat();
  RequestAttachment();
}

// --- Events of the network connection ----------------------------------------

std::shared_ptr<WaitCall> ClientConnection::TakeWaiting(const WaitCall* call) {
  absl::MutexLock lock(&mu_);
  if (waiting_.get() != call) return nullptr;
  return std::move(waiting_);
}

void ClientConnection::RefreshWait() {
  std::shared_ptr<WaitCall> overdue;
  {
    absl::MutexLock lock(&mu_);
    const auto limit = WaitCall::Clock::now() - shared_->refresh;
    if (waiting_ == nullptr || waiting_->since() > limit) return;
    overdue = std::move(waiting_);
  }
  overdue->Answer({});
}

void ClientConnection::OnWaitCancelled(WaitCall* call) {
  const std::shared_ptr<WaitCall> waiting = TakeWaiting(call);
  if (waiting == nullptr) return;
  waiting->Cancel();
  OnDisconnect();
}

void ClientConnection::OnDisconnect() {
  Update update(this);
  disconnected_ = true;
  disconnected_since_ = shared_->now_unix_nano();
  protocol_.OnDisconnect();
  protocol_.RequestReport();
}

void ClientConnection::Discard() {
  absl::MutexLock lock(&mu_);
  if (!saved_.empty() || !saved_graphs_.empty()) {
    shared_->files->Remove(incarnation_);
  }
}

void ClientConnection::MoveTo(const std::string& peer,
                              std::vector<debugger::WatchpointHit> hits) {
  absl::MutexLock lock(&mu_);
  peer_ = peer;
  for (debugger::WatchpointHit& hit : hits) protocol_.OnHit(std::move(hit));
}

std::vector<debugger::WatchpointHit> ClientConnection::TakeHits() {
  absl::MutexLock lock(&mu_);
  return protocol_.TakeHits();
}

// --- State -------------------------------------------------------------------

std::string ClientConnection::peer() const {
  absl::MutexLock lock(&mu_);
  return peer_;
}

std::optional<Identity> ClientConnection::identity() const {
  absl::MutexLock lock(&mu_);
  return identity_;
}

bool ClientConnection::has_graph() const {
  absl::MutexLock lock(&mu_);
  return protocol_.has_graph();
}

bool ClientConnection::disconnected() const {
  absl::MutexLock lock(&mu_);
  return disconnected_;
}

int64_t ClientConnection::disconnected_since() const {
  absl::MutexLock lock(&mu_);
  return disconnected_since_;
}

uint64_t ClientConnection::step() const {
  absl::MutexLock lock(&mu_);
  return protocol_.step();
}

bool ClientConnection::ended() const {
  absl::MutexLock lock(&mu_);
  return protocol_.terminated();
}

bool ClientConnection::waiting() const {
  absl::MutexLock lock(&mu_);
  return waiting_ != nullptr;
}

bool ClientConnection::silent() const {
  absl::MutexLock lock(&mu_);
  if (heartbeat_period_.count() == 0) return false;
  const std::chrono::nanoseconds quiet(shared_->steady_nano() -
                                       last_activity_steady_nano_);
  return quiet > kSilentPeriods * heartbeat_period_;
}

}  // namespace graphdbg::mindspore
