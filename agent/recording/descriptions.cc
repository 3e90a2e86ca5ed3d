#include "agent/recording/descriptions.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "agent/recording/file.h"
#include "proto/runs/layout.h"

namespace graphdbg::recording {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// Whatever is not UTF-8 is replaced, as in a name that a program made up.
std::string TextOf(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A ring in the rank's directory moves with it.
std::string RingOf(const RankDescription& description) {
  const std::string own =
      Join(description.directory.rank_path, runs::kRingFile);
  return description.ring_path == own ? runs::kRingFile : description.ring_path;
}

Json EndingOf(const Ending& ending) {
  Json exception = nullptr;
  if (ending.goodbye.has_exception()) {
    exception = {{"type", ending.goodbye.exception().type()},
                 {"message", ending.goodbye.exception().message()}};
  }
  return {{"unix_ns", ending.unix_ns},
          {"reason", ending.reason},
          {"exit_code", ending.goodbye.exit_code()},
          {"exception", exception},
          {"steps", ending.goodbye.steps()},
          {"records", ending.records},
          {"records_dropped", ending.records_dropped},
          {"tensors_dropped", ending.tensors_dropped}};
}

}  // namespace

std::string RunJson(const RankDescription& description) {
  return TextOf({{"format", kFormat},
                 {"run", description.directory.run},
                 {"program", description.program},
                 {"agent_version", description.hello.agent_version()},
                 {"started_unix_ns", description.started_unix_ns},
                 {"world_size", description.owner.world_size},
                 {"resumes", TextOrNull(description.directory.resumes)}});
}

std::string RankJson(const RankDescription& description) {
  const v1::Hello& hello = description.hello;
  const auto& incarnation = description.owner.incarnation;
  const std::string incarnation_hex = absl::BytesToHexString(
      {reinterpret_cast<const char*>(incarnation.data()), incarnation.size()});
  Json config = Json::parse(description.config_json, nullptr,
                            /*allow_exceptions=*/false);
  if (config.is_discarded()) config = Json::object();
  return TextOf({{"format", kFormat},
                 {"run", description.directory.run},
                 {"agent_version", hello.agent_version()},
                 {"started_unix_ns", description.started_unix_ns},
                 {"rank", description.owner.rank},
                 {"world_size", description.owner.world_size},
                 {"job", hello.job()},
                 {"job_name", hello.job_name()},
                 {"program", description.program},
                 {"framework", hello.framework()},
                 {"framework_version", hello.framework_version()},
                 {"device", hello.device()},
                 {"device_id", hello.device_id()},
                 {"host", hello.host()},
                 {"pid", hello.pid()},
                 {"incarnation", incarnation_hex},
                 {"ring", TextOrNull(RingOf(description))},
                 {"config", config},
                 {"ended", description.ended ? EndingOf(*description.ended)
                                             : Json(nullptr)}});
}

}  // namespace graphdbg::recording
