#include "server/rules/actions.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/model/enum_names.h"

namespace graphdbg::rules {
namespace {

// Settings of a recording, as the configuration file writes them.
std::string SettingsOf(const model::RecordAction& record) {
  nlohmann::ordered_json settings = {
      {"record", {{"level", model::ToString(record.level)}}}};
  for (const std::string& name : record.collections) {
    settings["collections"].push_back({{"name", name}});
  }
  return settings.dump(-1, ' ', false,
                       nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

struct ActionRunner::Performer {
  using Task = boost::asio::awaitable<void>;

  Task operator()(const model::PauseAction&) const {
    return Control(model::ControlVerb::kPause);
  }

  Task operator()(const model::StopAction&) const {
    return Control(model::ControlVerb::kTerminate);
  }

  Task operator()(const model::LogAction&) const {
    const std::string line = absl::StrCat(trigger.source, " in step ",
                                          trigger.step, ": ", trigger.message);
    (co_await job.PublishLog(trigger.rank, "warning", line)).IgnoreError();
    runner.Log(absl::StrCat("job ", job.id(), ": ", line));
  }

  Task operator()(const model::RecordAction& record) const {
    model::RecordingSpec spec;
    spec.on = true;
    spec.boost = {SettingsOf(record), record.steps};
    const auto recorded = co_await job.SetRecording(std::move(spec));
    if (!recorded.ok()) co_await Warn("record more", recorded.status());
  }

  // Hits are captured by the agent, before the job goes on.
  Task operator()(const model::CaptureAction&) const {
    if (trigger.node.empty()) co_return;
    const absl::Status ordered =
        co_await job.CatchTensors(trigger.node, trigger.rank, trigger.source);
    if (!ordered.ok()) co_await Warn("capture", ordered);
  }

  Task Control(model::ControlVerb verb) const {
    model::ControlRequest request;
    request.verb = verb;
    request.client = trigger.source;
    const auto sent = co_await job.Control(std::move(request));
    // A job that is paused, or has ended, needs no command.
    if (sent.ok() || ReasonOf(sent.status()) == "invalid_state") co_return;
    co_await Warn(verb == model::ControlVerb::kPause ? "pause" : "stop",
                  sent.status());
  }

  Task Warn(std::string_view what, const absl::Status& why) const {
    const std::string line =
        absl::StrCat(trigger.source, " cannot ", std::string(what), ": ",
                     std::string(why.message()));
    (co_await job.PublishLog(trigger.rank, "warning", line)).IgnoreError();
    runner.Log(absl::StrCat("warning: job ", job.id(), ": ", line));
  }

  const ActionRunner& runner;
  jobs::Job& job;
  const Trigger& trigger;
};

boost::asio::awaitable<void> ActionRunner::Run(
    std::vector<model::Action> actions, std::shared_ptr<jobs::Job> job,
    Trigger trigger) const {
  const Performer performer{*this, *job, trigger};
  for (const model::Action& action : actions) {
    co_await std::visit(performer, action);
  }
}

void ActionRunner::Start(std::vector<model::Action> actions,
                         std::shared_ptr<jobs::Job> job,
                         Trigger trigger) const {
  boost::asio::co_spawn(
      executor_, Run(std::move(actions), std::move(job), std::move(trigger)),
      boost::asio::detached);
}

void ActionRunner::Log(std::string_view line) const {
  if (log_) log_(line);
}

}  // namespace graphdbg::rules
