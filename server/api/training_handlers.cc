// Trainings of the server's user on this machine, which pages attach to and
// detach from. The program `graphdbg` does it; see agent/docs/attach.md.
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/wire/status_macros.h"
#include "server/api/body_reader.h"
#include "server/api/caller.h"
#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

constexpr char kPrefix[] = "graphdbg: ";

absl::Status CheckOffered(const Services& services) {
  if (services.run_command) return absl::OkStatus();
  return Error(absl::StatusCode::kFailedPrecondition, "no_trainings",
               "this server does not attach to trainings: only one that "
               "'graphdbg start' has started, with authentication and without "
               "--no-attach, does");
}

// The process that the path names. The server may be able to trace processes of
// other users, too, and does not.
absl::StatusOr<uint32_t> ReadPid(const http::Request& request) {
  const std::string& text = request.path_params.at("pid");
  uint32_t pid = 0;
  struct stat information;
  const bool is_own =
      absl::SimpleAtoi(text, &pid) &&
      pid <= uint32_t{std::numeric_limits<int32_t>::max()} &&
      stat(absl::StrCat("/proc/", pid).c_str(), &information) == 0 &&
      information.st_uid == geteuid();
  if (is_own) return pid;
  return Error(
      absl::StatusCode::kNotFound, "unknown_training",
      absl::StrCat("the server's user has no process '", text, "' here"));
}

// The last line that a program has printed, which says why it failed.
std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines =
      absl::StrSplit(text, '\n', absl::SkipWhitespace());
  std::string line = lines.empty() ? "no reason was given" : lines.back();
  if (absl::StartsWith(line, kPrefix)) line.erase(0, sizeof(kPrefix) - 1);
  return line;
}

// The JSON that a command prints.
jobs::Task<ReceivedJson> RunCommand(const Services& services,
                                    std::vector<std::string> arguments,
                                    std::string_view reason) {
  absl::StatusOr<CommandEnd> ended =
      co_await services.run_command(std::move(arguments));
  if (absl::IsDeadlineExceeded(ended.status())) {
    co_return Error(absl::StatusCode::kFailedPrecondition, reason,
                    "the process has not answered: its main thread does not "
                    "come back to Python. Nothing was changed; try again");
  }
  CO_ASSIGN_OR_RETURN(const CommandEnd end, std::move(ended));
  if (end.exit_code != 0) {
    co_return Error(absl::StatusCode::kFailedPrecondition, reason,
                    LastLine(end.errors));
  }
  ReceivedJson answer = ReceivedJson::parse(end.output, nullptr, false);
  if (!answer.is_object()) {
    co_return Error(absl::StatusCode::kInternal, "bad_answer",
                    "the program graphdbg has printed no JSON");
  }
  co_return answer;
}

// A field, or null if it is absent.
Json Field(const ReceivedJson& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? Json() : Json(*it);
}

Json EncodeTraining(const ReceivedJson& row, const std::string& address) {
  Json server = Field(row, "server");
  if (server == address) server = nullptr;
  return {{"pid", Field(row, "pid")},
          {"script", Field(row, "script")},
          {"rank", Field(row, "rank")},
          {"framework", "pytorch"},
          {"framework_version", Field(row, "torch")},
          {"started_at", Field(row, "started_at")},
          {"job", Field(row, "job")},
          {"server", std::move(server)}};
}

struct AttachRequest {
  bool all_ranks = true;
};

absl::StatusOr<AttachRequest> DecodeAttach(std::string_view text) {
  return DecodeBody<AttachRequest>(text, [](BodyReader& body) {
    return AttachRequest{body.Boolean("all_ranks").value_or(true)};
  });
}

}  // namespace

Answer ListTrainings(const Services& services, const http::Request&) {
  CO_RETURN_IF_ERROR(CheckOffered(services));
  std::vector<std::string> command = {"attach", "--list", "--json"};
  CO_ASSIGN_OR_RETURN(
      const ReceivedJson answer,
      co_await RunCommand(services, std::move(command), "not_listed"));
  Json out = {{"host", Field(answer, "host")}, {"trainings", Json::array()}};
  const auto rows = answer.find("trainings");
  if (rows != answer.end() && rows->is_array()) {
    for (const ReceivedJson& row : *rows) {
      out["trainings"].push_back(
          EncodeTraining(row, services.identity.http_address));
    }
  }
  co_return JsonResponse(out);
}

Answer AttachToTraining(const Services& services,
                        const http::Request& request) {
  CO_RETURN_IF_ERROR(CheckOffered(services));
  CO_ASSIGN_OR_RETURN(const uint32_t pid, ReadPid(request));
  CO_ASSIGN_OR_RETURN(const AttachRequest wanted, DecodeAttach(request.body));
  Note(request, absl::StrCat("process ", pid));
  std::vector<std::string> command = {"attach", absl::StrCat("--pid=", pid),
                                      "--json", "--server",
                                      services.identity.http_address};
  if (wanted.all_ranks) command.push_back("--all");
  CO_ASSIGN_OR_RETURN(
      const ReceivedJson answer,
      co_await RunCommand(services, std::move(command), "cannot_attach"));
  co_return JsonResponse(
      {{"job", Field(answer, "job")}, {"message", Field(answer, "message")}},
      201);
}

Answer DetachFromTraining(const Services& services,
                          const http::Request& request) {
  CO_RETURN_IF_ERROR(CheckOffered(services));
  CO_ASSIGN_OR_RETURN(const uint32_t pid, ReadPid(request));
  Note(request, absl::StrCat("process ", pid));
  std::vector<std::string> command = {"detach", absl::StrCat(pid), "--json"};
  CO_ASSIGN_OR_RETURN(
      const ReceivedJson answer,
      co_await RunCommand(services, std::move(command), "cannot_detach"));
  co_return JsonResponse({{"message", Field(answer, "message")}});
}

}  // namespace graphdbg::api
