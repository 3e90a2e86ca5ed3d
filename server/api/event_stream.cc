#include "server/api/event_stream.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "server/api/audit_trail.h"
#include "server/api/encode.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

namespace asio = boost::asio;
using model::Event;

constexpr char kAllJobs[] = "*";
// The events of the server itself are buffered under this id, which no job has.
constexpr char kServerEvents[] = "";
// The name of a client's message in errors.
constexpr char kMessage[] = "the message";
// A page shows its token as soon as the WebSocket is open.
constexpr std::chrono::seconds kTokenDeadline{5};
// RFC 6455 section 7.4.1.
constexpr uint16_t kPolicyViolation = 1008;
// RFC 6455's registry of close codes.
constexpr uint16_t kTryAgainLater = 1013;
// A snapshot contains at most this many hits, the newest ones.
constexpr uint32_t kSnapshotHits = 1'000;
// Events of one job sent before those of other jobs.
constexpr size_t kBatch = 64;
// No regular client exceeds these limits.
constexpr size_t kMaxReplies = 100;
constexpr size_t kMaxSubscriptions = 1'000;

Json ErrorMessage(const absl::Status& status) {
  return {{"type", "error"},
          {"code", ReasonOf(status)},
          {"detail", std::string(status.message())}};
}

// The event for a deleted or unknown job.
Json NoSuchJob(const std::string& job, uint64_t seq) {
  return {{"seq", seq}, {"type", "job"}, {"job", job}, {"info", nullptr}};
}

}  // namespace

EventStream::EventStream(const Services& services, asio::any_io_executor strand,
                         std::shared_ptr<http::MessageChannel> channel)
    : services_(services),
      strand_(std::move(strand)),
      channel_(std::move(channel)),
      sleeper_(strand_) {}

asio::awaitable<void> EventStream::Run(http::Request request) {
  auto self = shared_from_this();
  if (!co_await Authenticate(request)) co_return;
  const Json ready = {{"type", "ready"}};
  if (!co_await Send(ready)) co_return;
  auto listener = services_.events.Listen([weak = weak_from_this()] {
    if (auto stream = weak.lock()) stream->Wake();
  });
  asio::co_spawn(strand_, ReadMessages(), [self](std::exception_ptr) {
    self->ended_ = true;
    self->sleeper_.cancel();
  });
  while (!ended_ && !co_await EndIfRevoked()) {
    if (!co_await SendPending() && !ended_) co_await Sleep();
  }
  // Ends ReadMessages() too, if sending failed first.
  channel_->Abort();
}

asio::awaitable<bool> EventStream::Authenticate(const http::Request& request) {
  absl::StatusOr<auth::Principal> caller =
      services_.auth.CheckAuthorization(request.headers.Get("Authorization"));
  if (caller.ok()) {
    channel_->MarkAuthenticated();
    caller_ = *std::move(caller);
    co_return true;
  }
  asio::steady_timer deadline(strand_, kTokenDeadline);
  deadline.async_wait([channel = channel_](boost::system::error_code ec) {
    if (!ec) channel->Abort();
  });
  absl::StatusOr<std::string> first = co_await channel_->Receive();
  deadline.cancel();
  if (!first.ok()) co_return false;
  std::string token;
  if (const auto message = ParseJson(*first, kMessage);
      message.ok() && message->is_object() && message->contains("token") &&
      message->at("token").is_string()) {
    token = message->at("token").get<std::string>();
  }
  caller = services_.auth.CheckApi(token);
  if (caller.ok()) {
    channel_->MarkAuthenticated();
    caller_ = *std::move(caller);
    co_return true;
  }
  const absl::Status refused = caller.status();
  services_.audit.RecordRefused(EntryOf({}, request, "events", refused));
  if (co_await Send(ErrorMessage(refused))) {
    co_await channel_->Close(kPolicyViolation, ReasonOf(refused));
  }
  co_return false;
}

asio::awaitable<bool> EventStream::EndIfRevoked() {
  if (services_.auth.IsValid(caller_)) co_return false;
  const absl::Status ended =
      Error(absl::StatusCode::kUnauthenticated, "session_ended",
            "the session has ended; run 'graphdbg url' on the server's machine "
            "to print a new address of the page");
  if (co_await Send(ErrorMessage(ended))) {
    co_await channel_->Close(kPolicyViolation, ReasonOf(ended));
  }
  ended_ = true;
  co_return true;
}

asio::awaitable<void> EventStream::ReadMessages() {
  auto self = shared_from_this();
  while (true) {
    absl::StatusOr<std::string> message = co_await channel_->Receive();
    if (!message.ok()) co_return;
    HandleMessage(*message);
    if (replies_.size() > kMaxReplies) co_return;
    sleeper_.cancel();
  }
}

void EventStream::HandleMessage(const std::string& text) {
  const absl::StatusOr<ReceivedJson> read = ParseJson(text, kMessage);
  if (!read.ok()) {
    return QueueError("bad_message", std::string(read.status().message()));
  }
  const ReceivedJson& message = *read;
  if (!message.is_object()) {
    QueueError("bad_message", "the message is not a JSON object");
  } else if (message.contains("subscribe")) {
    Subscribe(message["subscribe"]);
  } else if (message.contains("unsubscribe")) {
    const ReceivedJson& from = message["unsubscribe"];
    if (from.is_object() && from.contains("job") && from["job"].is_string()) {
      subscriptions_.erase(from["job"].get<std::string>());
    }
  } else if (!message.contains("token")) {
    QueueError("bad_message",
               "the message is neither {\"subscribe\": {\"job\": ..}} nor "
               "{\"unsubscribe\": {\"job\": ..}}");
  }
}

void EventStream::Subscribe(const ReceivedJson& request) {
  if (!request.is_object() || !request.contains("job") ||
      !request["job"].is_string()) {
    return QueueError("bad_message",
                      "'subscribe.job' must be the id of a job or '*'");
  }
  if (subscriptions_.size() >= kMaxSubscriptions) {
    return QueueError("too_many_subscriptions",
                      "a connection may have at most " +
                          std::to_string(kMaxSubscriptions) + " subscriptions");
  }
  std::string job = request["job"].get<std::string>();
  Subscription subscription;
  if (request.contains("after") && !request["after"].is_null()) {
    if (!request["after"].is_number_unsigned()) {
      return QueueError("bad_message",
                        "'subscribe.after' must be the seq of an event");
    }
    if (job != kAllJobs) {
      subscription.next = request["after"].get<uint64_t>();
      subscription.needs_snapshot = false;
    }
  }
  if (job != kAllJobs) subscription.viewer = services_.directory.AddViewer(job);
  subscriptions_[job] = std::move(subscription);
}

void EventStream::QueueError(std::string code, std::string detail) {
  replies_.push_back({{"type", "error"},
                      {"code", std::move(code)},
                      {"detail", std::move(detail)}});
}

asio::awaitable<bool> EventStream::SendPending() {
  bool any = false;
  while (!replies_.empty() && !ended_) {
    Json reply = std::move(replies_.front());
    replies_.pop_front();
    any = co_await Send(reply);
  }
  if (co_await SendServerEvents()) any = true;
  std::vector<std::string> jobs;
  for (const auto& [job, subscription] : subscriptions_) jobs.push_back(job);
  for (const std::string& job : jobs) {
    if (ended_) break;
    bool sent = co_await SendEvents(job);
    any = any || sent;
  }
  co_return any;
}

// Every subscriber gets them, beginning with the newest one at that time.
asio::awaitable<bool> EventStream::SendServerEvents() {
  if (subscriptions_.empty()) co_return false;
  if (!server_events_sent_) {
    const uint64_t last = services_.events.LastSeq(kServerEvents);
    server_events_sent_ = last == 0 ? 0 : last - 1;
  }
  const EventBuffer::Page page =
      services_.events.After(kServerEvents, *server_events_sent_, kBatch);
  server_events_sent_ = page.next;
  for (const auto& record : page.records) {
    if (!co_await Send(*record->Text())) co_return false;
  }
  co_return !page.records.empty();
}

asio::awaitable<bool> EventStream::SendEvents(const std::string& job) {
  auto found = subscriptions_.find(job);
  if (found == subscriptions_.end()) co_return false;
  Subscription& subscription = found->second;
  const bool all = job == kAllJobs;
  EventBuffer::Page page;
  if (!subscription.needs_snapshot) {
    page = all ? services_.events.StatesAfter(subscription.next, kBatch)
               : services_.events.After(job, subscription.next, kBatch);
  }
  if (subscription.needs_snapshot || !page.gapless) {
    if (all) co_return co_await SendAllJobs();
    co_return co_await SendSnapshot(job);
  }
  // Must precede the first co_await: the peer may change its subscription while
  // this function sends.
  subscription.next = page.next;
  for (const auto& record : page.records) {
    if (!co_await Send(*record->Text())) co_return false;
  }
  co_return !page.records.empty();
}

asio::awaitable<bool> EventStream::SendSnapshot(const std::string& job) {
  // The seq is read before the values, which are therefore at least as new.
  // Events in between are sent again, which has no effect.
  const uint64_t seq = services_.events.LastSeq(job);
  Subscription& subscription = subscriptions_[job];
  subscription.next = seq;
  subscription.needs_snapshot = false;
  Json snapshot = {{"type", "snapshot"}, {"seq", seq}, {"job", job}};
  std::shared_ptr<jobs::Job> found = services_.directory.Find(job);
  if (found && !services_.events.IsDeleted(job)) {
    absl::StatusOr<model::Job> info = co_await found->Describe();
    absl::StatusOr<std::vector<model::Watchpoint>> watchpoints =
        co_await found->Watchpoints();
    absl::StatusOr<std::vector<model::Hit>> hits =
        co_await found->NewestHits(kSnapshotHits);
    if (info.ok() && watchpoints.ok() && hits.ok()) {
      snapshot["info"] = Encode(*info);
      snapshot["watchpoints"] = EncodeAll(*watchpoints);
      snapshot["hits"] = EncodeAll(*hits);
      ++services_.counters.snapshots;
      co_return co_await SendLarge(Dump(std::exchange(snapshot, {})));
    }
  }
  subscriptions_.erase(job);
  co_return co_await Send(NoSuchJob(job, seq));
}

asio::awaitable<bool> EventStream::SendAllJobs() {
  Subscription& subscription = subscriptions_[kAllJobs];
  subscription.next = services_.events.LastPosition();
  subscription.needs_snapshot = false;
  for (const auto& job : services_.directory.Jobs()) {
    if (services_.events.IsDeleted(job->id())) continue;
    Event event;
    event.type = Event::Type::kJob;
    event.job = job->id();
    event.seq = services_.events.LastSeq(job->id());
    event.job_info = *job->LastKnown();
    if (!co_await Send(Encode(event, services_.now_unix_nano()))) {
      co_return false;
    }
  }
  co_return true;
}

asio::awaitable<bool> EventStream::SendLarge(std::string message) {
  MemoryBudget::Reservation memory;
  if (services_.memory != nullptr) {
    auto reserved =
        services_.memory->Reserve(MemoryAccount::kEvents, message.capacity());
    if (!reserved.ok()) {
      message = {};
      if (co_await Send(ErrorMessage(reserved.status()))) {
        co_await channel_->Close(kTryAgainLater, ReasonOf(reserved.status()));
      }
      ended_ = true;
      co_return false;
    }
    memory = *std::move(reserved);
  }
  co_return co_await Send(std::move(message));
}

asio::awaitable<bool> EventStream::Send(const Json& message) {
  co_return co_await Send(Dump(message));
}

asio::awaitable<bool> EventStream::Send(std::string message) {
  absl::Status sent = co_await channel_->Send(std::move(message));
  if (!sent.ok()) ended_ = true;
  co_return sent.ok();
}

asio::awaitable<void> EventStream::Sleep() {
  boost::system::error_code ignored;
  // Sessions end without an event.
  const absl::Duration left = caller_.expires_at - services_.auth.Now();
  if (left == absl::InfiniteDuration()) {
    sleeper_.expires_at(asio::steady_timer::time_point::max());
  } else {
    sleeper_.expires_after(
        absl::ToChronoMilliseconds(std::max(left, absl::ZeroDuration())) +
        std::chrono::milliseconds(1));
  }
  co_await sleeper_.async_wait(
      asio::redirect_error(asio::use_awaitable, ignored));
}

void EventStream::Wake() {
  if (wake_posted_.exchange(true)) return;
  asio::post(strand_, [weak = weak_from_this()] {
    auto stream = weak.lock();
    if (!stream) return;
    stream->wake_posted_ = false;
    stream->sleeper_.cancel();
  });
}

}  // namespace graphdbg::api
