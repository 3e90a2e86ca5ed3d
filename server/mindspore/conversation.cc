#include "server/mindspore/conversation.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "proto/wire/utf8.h"
#include "server/mindspore/random_id.h"

namespace graphdbg::mindspore {
namespace {

constexpr size_t kMaxVersionBytes = 100;
// Heartbeats that may fail to come.
constexpr int kSilentPeriods = 3;
constexpr size_t kMaxHitsAtOnce = 1'000;

size_t HashOf(const debugger::GraphProto& graph) {
  return std::hash<std::string>()(graph.SerializeAsString());
}

bool IsHit(const jobs::AgentReport& report) {
  return std::holds_alternative<jobs::HitReport>(report);
}

}  // namespace

Conversation::Conversation(std::shared_ptr<const Shared> shared,
                           std::string peer)
    : shared_(std::move(shared)),
      peer_(std::move(peer)),
      incarnation_(RandomId()),
      dialogue_(shared_->now_unix_nano) {}

Conversation::Conversation(std::shared_ptr<const Shared> shared,
                           const SavedClient& saved)
    : shared_(std::move(shared)),
      identity_(Identity{saved.host(), saved.device(), saved.backend()}),
      ms_version_(saved.dialogue().ms_version()),
      incarnation_(saved.incarnation()),
      dialogue_(shared_->now_unix_nano),
      saved_(saved.SerializeAsString()),
      lost_(true),
      lost_since_(shared_->now_unix_nano()),
      ever_attached_(true),
      namesakes_(saved.namesakes()) {
  const auto graphs = shared_->files->Graphs(incarnation_);
  for (const auto& graph : graphs) saved_graphs_.insert(HashOf(graph));
  dialogue_.Restore(saved.dialogue(), graphs);
}

// Every change ends here: reports go to the session, and a client that waits
// gets its answer, if there is one now.
void Conversation::Locked(const std::function<void()>& change) {
  debugger::EventReply reply;
  std::shared_ptr<WaitCall> call;
  std::optional<jobs::AgentHello> hello;
  uint64_t attachment = 0;
  {
    std::lock_guard lock(mu_);
    change();
    DeliverReports();
    call = TakeAnswer(reply);
    DeliverReports();
    // An answer counts once it is given.
    if (call != nullptr) Save();
    hello = std::exchange(hello_, std::nullopt);
    attachment = attachment_;
  }
  if (call != nullptr) call->Answer(reply);
  if (hello) Attach(*std::move(hello), attachment);
}

std::shared_ptr<WaitCall> Conversation::TakeAnswer(
    debugger::EventReply& reply) {
  if (waiting_ == nullptr) return nullptr;
  // It goes on when what it reported is kept: so no more than one step's hits
  // are in memory alone.
  const bool kept = delivering_ == 0 && backlog_.empty();
  if (session_ == Session::kThere && !kept) return nullptr;
  if (kept) dialogue_.ReportsAreKept();
  auto next = dialogue_.Next();
  if (!next) return nullptr;
  reply = *std::move(next);
  Heard();
  return std::move(waiting_);
}

void Conversation::DeliverReports() {
  for (jobs::AgentReport& report : dialogue_.TakeReports()) {
    backlog_.push_back(std::move(report));
  }
  if (session_ == Session::kRefused) backlog_.clear();
  if (port_ == nullptr) return;
  const bool ends = lost_ || dialogue_.terminated();
  if (backlog_.empty() && delivering_ == 0 && ends) return Detach();
  while (!backlog_.empty() && MayDeliver()) {
    jobs::AgentReport report = std::move(backlog_.front());
    backlog_.pop_front();
    ++delivering_;
    delivering_hits_ = IsHit(report);
    port_->Deliver(std::move(report),
                   [self = shared_from_this(),
                    attachment = attachment_](absl::Status dealt_with) {
                     self->Delivered(attachment, dealt_with);
                   });
  }
}

// Hits are written to the disk before they are dealt with, many at a time; what
// follows them is not to be seen before.
bool Conversation::MayDeliver() const {
  if (delivering_ == 0) return true;
  return delivering_hits_ && delivering_ < kMaxHitsAtOnce &&
         IsHit(backlog_.front());
}

void Conversation::Delivered(uint64_t attachment,
                             const absl::Status& dealt_with) {
  Locked([&] {
    if (attachment != attachment_) return;
    --delivering_;
    if (dealt_with.ok() || !shared_->log) return;
    shared_->log(absl::StrCat("a MindSpore job's report was refused: ",
                              dealt_with.message()));
  });
}

void Conversation::Save() {
  // What its absence does to a client is undone when it comes back.
  if (lost_ || !identity_) return;
  if (dialogue_.terminated() || session_ == Session::kRefused) {
    if (!saved_.empty()) shared_->files->Remove(incarnation_);
    saved_.clear();
    return;
  }
  SavedClient client;
  client.set_incarnation(incarnation_);
  client.set_host(identity_->host);
  client.set_device(identity_->device);
  client.set_backend(identity_->backend);
  client.set_namesakes(namesakes_);
  *client.mutable_dialogue() = dialogue_.Save();
  std::string bytes = client.SerializeAsString();
  if (bytes == saved_) return;
  if (shared_->files->Save(incarnation_, bytes)) saved_ = std::move(bytes);
}

void Conversation::Identify(const debugger::Metadata& metadata) {
  lost_ = false;
  Heard();
  if (!identity_) identity_ = IdentityOf(metadata, peer_);
}

void Conversation::Met(const debugger::Metadata& metadata) {
  Locked([&] {
    Identify(metadata);
    ms_version_ = wire::ToValidUtf8(metadata.ms_version(), kMaxVersionBytes);
    dialogue_.Met(metadata);
    WantSession();
    Save();
  });
}

void Conversation::Heard() { last_heard_unix_nano_ = shared_->now_unix_nano(); }

void Conversation::Graphs(std::vector<debugger::GraphProto> graphs) {
  Locked([&] {
    Heard();
    for (const debugger::GraphProto& graph : graphs) {
      if (!saved_graphs_.insert(HashOf(graph)).second) continue;
      shared_->files->AddGraph(incarnation_, graph);
    }
    dialogue_.Graphs(graphs);
    Save();
  });
}

void Conversation::Hits(std::vector<debugger::WatchpointHit> hits) {
  Locked([&] {
    Heard();
    for (debugger::WatchpointHit& hit : hits) dialogue_.Hit(std::move(hit));
    Save();
  });
}

void Conversation::Views(const std::function<void(ViewDesk&)>& take) {
  Locked([&] {
    Heard();
    take(dialogue_.views());
  });
}

void Conversation::Wait(std::shared_ptr<WaitCall> call,
                        const debugger::Metadata& metadata) {
  std::shared_ptr<WaitCall> before;
  Locked([&] {
    Identify(metadata);
    before = std::exchange(waiting_, call);
    dialogue_.Asks(metadata);
    WantSession();
    Save();
    call->Hold(shared_->refresh);
  });
  // A client has one call of this kind at a time; that one is lost.
  if (before != nullptr) before->Answer({});
}

void Conversation::Done(const debugger::Metadata& metadata) {
  Locked([&] {
    lost_ = false;
    Heard();
    // It may end before it asks a server that is new.
    if (identity_) WantSession();
    dialogue_.Done(metadata);
    Save();
  });
}

void Conversation::Heartbeat(std::chrono::seconds period) {
  Locked([&] {
    heartbeat_period_ = period;
    Heard();
    if (!lost_ || !identity_) return;
    // It was slow, not gone.
    lost_ = false;
    dialogue_.Alive();
    WantSession();
  });
}

void Conversation::WaitedLong(WaitCall* call) {
  std::shared_ptr<WaitCall> waiting;
  {
    std::lock_guard lock(mu_);
    if (waiting_.get() == call) waiting = std::move(waiting_);
  }
  if (waiting != nullptr) waiting->Answer({});
}

void Conversation::WaitBroken(WaitCall* call) {
  std::shared_ptr<WaitCall> waiting;
  {
    std::lock_guard lock(mu_);
    if (waiting_.get() == call) waiting = std::move(waiting_);
  }
  if (waiting == nullptr) return;
  waiting->Break();
  Lost();
}

void Conversation::Lost() {
  Locked([&] {
    lost_ = true;
    lost_since_ = shared_->now_unix_nano();
    dialogue_.Gone();
    dialogue_.Rejoined();
  });
}

void Conversation::Forget() {
  std::lock_guard lock(mu_);
  if (!saved_.empty()) shared_->files->Remove(incarnation_);
}

void Conversation::MovedTo(const std::string& peer,
                           std::vector<debugger::WatchpointHit> hits) {
  std::lock_guard lock(mu_);
  peer_ = peer;
  for (debugger::WatchpointHit& hit : hits) dialogue_.Hit(std::move(hit));
}

std::vector<debugger::WatchpointHit> Conversation::TakeHits() {
  std::lock_guard lock(mu_);
  return dialogue_.TakeHits();
}

// --- What it is --------------------------------------------------------------

std::string Conversation::peer() const {
  std::lock_guard lock(mu_);
  return peer_;
}

std::optional<Identity> Conversation::identity() const {
  std::lock_guard lock(mu_);
  return identity_;
}

bool Conversation::has_graph() const {
  std::lock_guard lock(mu_);
  return dialogue_.has_graph();
}

bool Conversation::lost() const {
  std::lock_guard lock(mu_);
  return lost_;
}

int64_t Conversation::lost_since() const {
  std::lock_guard lock(mu_);
  return lost_since_;
}

uint64_t Conversation::step() const {
  std::lock_guard lock(mu_);
  return dialogue_.step();
}

bool Conversation::ended() const {
  std::lock_guard lock(mu_);
  return dialogue_.terminated();
}

bool Conversation::waits() const {
  std::lock_guard lock(mu_);
  return waiting_ != nullptr;
}

bool Conversation::silent() const {
  std::lock_guard lock(mu_);
  if (heartbeat_period_.count() == 0) return false;
  const std::chrono::nanoseconds quiet(shared_->now_unix_nano() -
                                       last_heard_unix_nano_);
  return quiet > kSilentPeriods * heartbeat_period_;
}

}  // namespace graphdbg::mindspore
