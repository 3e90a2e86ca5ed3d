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
constexpr std::chrono::seconds kTokenDeadline{10};
// RFC 6455: the peer broke a rule of the application.
constexpr uint16_t kPolicyViolation = 1008;
// The newest hits that a snapshot has.
constexpr uint32_t kSnapshotHits = 1'000;
// Events sent before other jobs and messages get their turn.
constexpr size_t kBatch = 64;
// A peer beyond these is not one of ours.
constexpr size_t kMaxReplies = 100;
constexpr size_t kMaxSubscriptions = 1'000;

Json ErrorMessage(const absl::Status& status) {
  return {{"type", "error"},
          {"code", ReasonOf(status)},
          {"detail", std::string(status.message())}};
}

// A forgotten or unknown job, as the event that says so.
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
    if (!co_await SendSome() && !ended_) co_await Sleep();
  }
  // Ends the reading too, if sending failed first.
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
    Understand(*message);
    if (replies_.size() > kMaxReplies) co_return;
    sleeper_.cancel();
  }
}

void EventStream::Understand(const std::string& text) {
  Json message = Json::parse(text, nullptr, false);
  if (!message.is_object()) {
    Complain("bad_message", "a message is a JSON object");
  } else if (message.contains("subscribe")) {
    Subscribe(message["subscribe"]);
  } else if (message.contains("unsubscribe")) {
    const Json& from = message["unsubscribe"];
    if (from.is_object() && from.contains("job") && from["job"].is_string()) {
      places_.erase(from["job"].get<std::string>());
    }
  } else if (!message.contains("token")) {
    Complain("bad_message",
             "a message is {\"subscribe\": {\"job\": ..}} or "
             "{\"unsubscribe\": {\"job\": ..}}");
  }
}

void EventStream::Subscribe(const Json& subscription) {
  if (!subscription.is_object() || !subscription.contains("job") ||
      !subscription["job"].is_string()) {
    return Complain("bad_message", "'subscribe.job' must be a job's id or *");
  }
  if (places_.size() >= kMaxSubscriptions) {
    return Complain("too_many_subscriptions",
                    "a connection takes " + std::to_string(kMaxSubscriptions) +
                        " subscriptions");
  }
  std::string job = subscription["job"].get<std::string>();
  Place place;
  if (subscription.contains("after") && !subscription["after"].is_null()) {
    if (!subscription["after"].is_number_unsigned()) {
      return Complain("bad_message", "'subscribe.after' must be a seq");
    }
    if (job != kAllJobs) {
      place.next = subscription["after"].get<uint64_t>();
      place.needs_snapshot = false;
    }
  }
  places_[job] = place;
}

void EventStream::Complain(std::string code, std::string detail) {
  replies_.push_back({{"type", "error"},
                      {"code", std::move(code)},
                      {"detail", std::move(detail)}});
}

asio::awaitable<bool> EventStream::SendSome() {
  bool any = false;
  while (!replies_.empty() && !ended_) {
    Json reply = std::move(replies_.front());
    replies_.pop_front();
    any = co_await Send(reply);
  }
  std::vector<std::string> jobs;
  for (const auto& [job, place] : places_) jobs.push_back(job);
  for (const std::string& job : jobs) {
    if (ended_) break;
    bool sent = co_await SendOf(job);
    any = any || sent;
  }
  co_return any;
}

asio::awaitable<bool> EventStream::SendOf(const std::string& job) {
  auto place = places_.find(job);
  if (place == places_.end()) co_return false;
  const bool all = job == kAllJobs;
  EventHub::Page page;
  if (!place->second.needs_snapshot) {
    const uint64_t next = place->second.next;
    page = all ? services_.events.StatesAfter(next, kBatch)
               : services_.events.After(job, next, kBatch);
  }
  if (place->second.needs_snapshot || !page.gapless) {
    if (all) co_return co_await SendAllJobs();
    co_return co_await SendSnapshot(job);
  }
  // Before the first wait: the peer may subscribe anew while this sends.
  place->second.next = page.next;
  for (const auto& record : page.records) {
    if (!co_await Send(*record->Text())) co_return false;
  }
  co_return !page.records.empty();
}

asio::awaitable<bool> EventStream::SendSnapshot(const std::string& job) {
  // The values are asked for after the seq is read, so they are at least as
  // new; events in between are sent again and change nothing.
  const uint64_t seq = services_.events.LastSeq(job);
  places_[job] = {seq, false};
  Json snapshot = {{"type", "snapshot"}, {"seq", seq}, {"job", job}};
  std::shared_ptr<jobs::Job> found = services_.directory.Find(job);
  if (found && !services_.events.IsForgotten(job)) {
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
  places_.erase(job);
  co_return co_await Send(NoSuchJob(job, seq));
}

asio::awaitable<bool> EventStream::SendAllJobs() {
  places_[kAllJobs] = {services_.events.LastPosition(), false};
  for (const auto& job : services_.directory.Jobs()) {
    if (services_.events.IsForgotten(job->id())) continue;
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
