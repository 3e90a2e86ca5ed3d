#include "server/api/event_stream.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "server/api/encode.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

namespace asio = boost::asio;
using model::Event;

constexpr char kAllJobs[] = "*";
// The events of the server itself are buffered under this id, which no job has.
constexpr char kServerEvents[] = "";
constexpr std::chrono::seconds kTokenDeadline{10};
// RFC 6455 section 7.4.1.
constexpr uint16_t kPolicyViolation = 1008;
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
  while (!ended_) {
    if (!co_await SendPending() && !ended_) co_await Sleep();
  }
  // Ends ReadMessages() too, if sending failed first.
  channel_->Abort();
}

asio::awaitable<bool> EventStream::Authenticate(const http::Request& request) {
  absl::Status allowed =
      services_.auth.CheckAuthorization(request.headers.Get("Authorization"));
  if (allowed.ok()) co_return true;
  asio::steady_timer deadline(strand_, kTokenDeadline);
  deadline.async_wait([channel = channel_](boost::system::error_code ec) {
    if (!ec) channel->Abort();
  });
  absl::StatusOr<std::string> first = co_await channel_->Receive();
  deadline.cancel();
  if (!first.ok()) co_return false;
  Json message = Json::parse(*first, nullptr, false);
  std::string token;
  if (message.is_object() && message.contains("token") &&
      message["token"].is_string()) {
    token = message["token"].get<std::string>();
  }
  allowed = services_.auth.CheckApi(token);
  if (allowed.ok()) co_return true;
  if (co_await Send(ErrorMessage(allowed))) {
    co_await channel_->Close(kPolicyViolation, ReasonOf(allowed));
  }
  co_return false;
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
  Json message = Json::parse(text, nullptr, false);
  if (!message.is_object()) {
    QueueError("bad_message", "the message is not a JSON object");
  } else if (message.contains("subscribe")) {
    Subscribe(message["subscribe"]);
  } else if (message.contains("unsubscribe")) {
    const Json& from = message["unsubscribe"];
    if (from.is_object() && from.contains("job") && from["job"].is_string()) {
      subscriptions_.erase(from["job"].get<std::string>());
    }
  } else if (!message.contains("token")) {
    QueueError("bad_message",
               "the message is neither {\"subscribe\": {\"job\": ..}} nor "
               "{\"unsubscribe\": {\"job\": ..}}");
  }
}

void EventStream::Subscribe(const Json& request) {
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
  subscriptions_[job] = subscription;
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
  subscriptions_[job] = {seq, false};
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
      co_return co_await Send(snapshot);
    }
  }
  subscriptions_.erase(job);
  co_return co_await Send(NoSuchJob(job, seq));
}

asio::awaitable<bool> EventStream::SendAllJobs() {
  subscriptions_[kAllJobs] = {services_.events.LastPosition(), false};
  for (const auto& job : services_.directory.Jobs()) {
    if (services_.events.IsDeleted(job->id())) continue;
    Event event;
    event.type = Event::Type::kJob;
    event.job = job->id();
    event.seq = services_.events.LastSeq(job->id());
    absl::StatusOr<model::Job> info = co_await job->Describe();
    if (!info.ok()) continue;
    event.job_info = *std::move(info);
    if (!co_await Send(Encode(event, services_.now_unix_nano()))) {
      co_return false;
    }
  }
  co_return true;
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
  sleeper_.expires_at(asio::steady_timer::time_point::max());
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
