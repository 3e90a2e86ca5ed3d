// The conversation's side that looks at the session: how it becomes a job
// there, and what it is told.
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/mindspore/conversation.h"

namespace graphdbg::mindspore {
namespace {

// Jobs of one device of one machine at the same time.
constexpr int kMaxNamesakes = 100;

}  // namespace

// The session's way to the client, as long as one attachment lasts.
class Conversation::Link final : public jobs::AgentLink {
 public:
  Link(std::weak_ptr<Conversation> conversation, uint64_t attachment)
      : conversation_(std::move(conversation)), attachment_(attachment) {}

  void Send(jobs::AgentOrder order) override {
    if (auto self = conversation_.lock()) {
      self->Send(attachment_, std::move(order));
    }
  }

  void Close(absl::Status status) override {
    if (auto self = conversation_.lock()) self->Closed(attachment_, status);
  }

 private:
  const std::weak_ptr<Conversation> conversation_;
  const uint64_t attachment_;
};

void Conversation::WantSession() {
  if (session_ != Session::kNone || dialogue_.terminated()) return;
  session_ = Session::kComing;
  ++attachment_;
  hello_ = Hello();
}

void Conversation::Attach(jobs::AgentHello hello, uint64_t attachment) {
  shared_->entrance->Attach(
      std::move(hello), std::make_shared<Link>(weak_from_this(), attachment),
      [self = shared_from_this(),
       attachment](absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
        self->Attached(attachment, std::move(port));
      });
}

void Conversation::Detach() {
  ++attachment_;
  delivering_ = 0;
  if (session_ != Session::kRefused) session_ = Session::kNone;
  dialogue_.set_attached(false);
  if (auto port = std::move(port_)) port->Closed();
}

jobs::AgentHello Conversation::Hello() const {
  jobs::AgentHello hello;
  hello.job = JobNameOf(*identity_);
  if (namesakes_ > 0) absl::StrAppend(&hello.job, ".", namesakes_ + 1);
  hello.framework = "mindspore";
  hello.framework_version = ms_version_.empty() ? "1.0" : ms_version_;
  hello.host = identity_->host;
  hello.peer = AddressOf(peer_);
  hello.device = identity_->backend;
  if (!absl::SimpleAtoi(identity_->device, &hello.device_id)) {
    hello.device_id = 0;
  }
  hello.incarnation = incarnation_;
  hello.unsupported = dialogue_.unsupported();
  return hello;
}

void Conversation::Attached(
    uint64_t attachment,
    absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port) {
  bool void_already = false;
  Locked([&] {
    void_already = attachment != attachment_;
    if (void_already) return;
    if (port.ok()) {
      session_ = Session::kThere;
      port_ = *port;
      dialogue_.set_attached(true);
      const bool wanted = dialogue_.TakeGraphsWanted();
      if (std::exchange(ever_attached_, true) && wanted) TellGraphs();
      return;
    }
    session_ = Session::kNone;
    if (port.status().code() == absl::StatusCode::kAlreadyExists &&
        ++namesakes_ < kMaxNamesakes) {
      return WantSession();
    }
    // Nobody can debug it: it is not to suffer from that.
    session_ = Session::kRefused;
    dialogue_.Release();
    if (shared_->log) {
      shared_->log(
          absl::StrCat("a MindSpore job from ", AddressOf(peer_),
                       " runs on undebugged: ", port.status().message()));
    }
  });
  if (void_already && port.ok()) (*port)->Closed();
}

// Before all that refers to them.
void Conversation::TellGraphs() {
  dialogue_.TellGraphs(shared_->files->Graphs(incarnation_));
  std::vector<jobs::AgentReport> graphs = dialogue_.TakeReports();
  backlog_.insert(backlog_.begin(), std::make_move_iterator(graphs.begin()),
                  std::make_move_iterator(graphs.end()));
}

void Conversation::Send(uint64_t attachment, jobs::AgentOrder order) {
  Locked([&] {
    if (attachment != attachment_) return;
    dialogue_.Order(order);
    Save();
  });
}

void Conversation::Closed(uint64_t attachment, const absl::Status& status) {
  Locked([&] {
    if (attachment != attachment_) return;
    session_ = Session::kRefused;
    dialogue_.Release();
    Detach();
    if (shared_->log) {
      shared_->log(absl::StrCat("a MindSpore job from ", AddressOf(peer_),
                                " runs on undebugged: ", status.message()));
    }
  });
}

}  // namespace graphdbg::mindspore
