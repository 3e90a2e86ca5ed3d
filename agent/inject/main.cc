// graphdbg-inject: has a running Python process run a text, and prints a line
// of JSON about that. The command `graphdbg attach` runs it.
//
//   graphdbg-inject --pid PID --text-file FILE    - is standard input
//   graphdbg-inject --pid PID --inspect           looks, and changes nothing
//
// Prints {"state": "queued", "stopped_us", "where", "nudged"} or "queue_full",
// {"state": "inspected", "python", "file"}, or {"state": "failed", "code",
// "message"}. Exit codes: 0 done, 1 failed, 2 wrong usage.
//
// GRAPHDBG_INJECT_DIE_AFTER=STEP has it kill itself then, for tests.
#include <sys/types.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/inject/failure.h"
#include "agent/inject/inject.h"
#include "agent/inject/python_process.h"
#include "proto/wire/status_macros.h"

namespace {

using Json = nlohmann::json;

struct Arguments {
  pid_t pid = 0;
  bool inspect = false;
  std::string text_file;
};

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--inspect") {
      arguments.inspect = true;
    } else if (word == "--pid" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &arguments.pid)) return std::nullopt;
    } else if (word == "--text-file" && i + 1 < argc) {
      arguments.text_file = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  if (arguments.pid <= 0 || arguments.inspect != arguments.text_file.empty()) {
    return std::nullopt;
  }
  return arguments;
}

absl::StatusOr<std::string> ReadText(const std::string& name) {
  std::ifstream file;
  if (name != "-") {
    file.open(name, std::ios::binary);
    if (!file.is_open()) {
      return absl::NotFoundError(absl::StrCat("cannot read ", name));
    }
  }
  std::istream& stream = name == "-" ? std::cin : file;
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (text.size() >= graphdbg::inject::kMaxTextBytes) {
    return absl::InvalidArgumentError("the text is longer than 64 KiB");
  }
  if (text.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the text contains a zero byte");
  }
  return text;
}

void DieAfter(absl::string_view step) {
  const char* const wanted = std::getenv("GRAPHDBG_INJECT_DIE_AFTER");
  if (wanted != nullptr && step == wanted) raise(SIGKILL);
}

absl::StatusOr<Json> Inspect(pid_t pid) {
  ASSIGN_OR_RETURN(const graphdbg::inject::PythonProcess process,
                   graphdbg::inject::FindPython(pid));
  return Json{{"state", "inspected"},
              {"python", process.version},
              {"file", process.file}};
}

absl::StatusOr<Json> Inject(const Arguments& arguments) {
  using graphdbg::inject::Injection;
  ASSIGN_OR_RETURN(const std::string text, ReadText(arguments.text_file));
  ASSIGN_OR_RETURN(const Injection injection,
                   graphdbg::inject::Inject(arguments.pid, text, DieAfter));
  const bool queued = injection.result == Injection::Result::kQueued;
  return Json{{"state", queued ? "queued" : "queue_full"},
              {"stopped_us", injection.stopped.count()},
              {"where", injection.where},
              {"nudged", injection.nudged}};
}

int Print(const Json& json, int exit_code) {
  // Paths need not be UTF-8.
  std::puts(json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments.has_value()) {
    std::fputs(
        "usage: graphdbg-inject --pid PID --text-file FILE\n"
        "       graphdbg-inject --pid PID --inspect\n",
        stderr);
    return 2;
  }
  const absl::StatusOr<Json> result =
      arguments->inspect ? Inspect(arguments->pid) : Inject(*arguments);
  if (result.ok()) return Print(*result, 0);
  return Print({{"state", "failed"},
                {"code", graphdbg::inject::FailureCode(result.status())},
                {"message", std::string(result.status().message())}},
               1);
}
