#include "agent/core/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/conditions/pattern_set.h"
#include "agent/core/config_values.h"
#include "agent/core/loopback.h"

namespace graphdbg::agent {
namespace {

constexpr size_t kMaxTokenBytes = 4096;

std::optional<bool> ParseBool(absl::string_view text) {
  const std::string word = absl::AsciiStrToLower(text);
  if (word == "1" || word == "true" || word == "yes" || word == "on") {
    return true;
  }
  if (word == "0" || word == "false" || word == "no" || word == "off") {
    return false;
  }
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> ParseSeconds(absl::string_view text) {
  double seconds;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0) || seconds > 1e9) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

// More than 0: what may take no time is switched off by itself.
std::optional<double> ParseShare(absl::string_view text) {
  double share;
  if (!absl::SimpleAtod(text, &share) || !(share > 0) || share > 1) {
    return std::nullopt;
  }
  return share;
}

std::optional<uint16_t> ParsePort(absl::string_view text) {
  uint32_t port;
  if (!absl::SimpleAtoi(text, &port) || port == 0 || port > 65535) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(port);
}

std::optional<uint64_t> ParseCount(absl::string_view text) {
  uint64_t count;
  if (!absl::SimpleAtoi(text, &count)) return std::nullopt;
  return count;
}

std::optional<uint32_t> ParseSmallCount(absl::string_view text) {
  uint32_t count;
  if (!absl::SimpleAtoi(text, &count)) return std::nullopt;
  return count;
}

std::optional<OnDisconnect> ParseOnDisconnect(absl::string_view text) {
  if (text == "resume") return OnDisconnect::kResume;
  if (text == "hold") return OnDisconnect::kHold;
  if (text == "stop") return OnDisconnect::kStop;
  if (text == "detach") return OnDisconnect::kDetach;
  return std::nullopt;
}

std::optional<OnError> ParseOnError(absl::string_view text) {
  if (text == "pause") return OnError::kPause;
  if (text == "continue") return OnError::kContinue;
  if (text == "auto") return OnError::kPauseIfAttended;
  return std::nullopt;
}

std::optional<TapeSetting> ParseTape(absl::string_view text) {
  if (text == "auto") return TapeSetting::kAuto;
  if (text == "off") return TapeSetting::kOff;
  if (text == "forward_backward") return TapeSetting::kForwardBackward;
  if (text == "whole_step") return TapeSetting::kWholeStep;
  return std::nullopt;
}

// Whether the path leads to a socket that no other user could have put there.
bool IsOwnSocket(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
         status.st_uid == geteuid();
}

class Reader {
 public:
  Reader(const Environment& environment, Config* config)
      : environment_(environment), config_(config) {}

  // Empty variables count as not set.
  std::optional<std::string> Value(const char* name) const {
    const char* value = environment_(name);
    if (value == nullptr) return std::nullopt;
    const absl::string_view text = absl::StripAsciiWhitespace(value);
    if (text.empty()) return std::nullopt;
    return std::string(text);
  }

  // Uses the first variable that is set.
  template <class T, class Parse>
  void Read(std::initializer_list<const char*> names, const char* expected,
            const Parse& parse, T* field) {
    for (const char* name : names) {
      const std::optional<std::string> text = Value(name);
      if (!text) continue;
      if (auto value = parse(*text)) {
        *field = *value;
      } else {
        config_->problems.push_back(absl::StrCat("ignored ", name, "=", *text,
                                                 ": expected ", expected));
      }
      return;
    }
  }

  void ReadToken() {
    if (const auto token = Value("GRAPHDBG_TOKEN")) config_->token = *token;
    const auto file = Value("GRAPHDBG_TOKEN_FILE");
    if (!file || !config_->token.empty()) return;
    std::ifstream stream(*file);
    std::string text;
    if (!std::getline(stream, text) || text.size() > kMaxTokenBytes) {
      config_->problems.push_back(absl::StrCat(
          "cannot read the token file GRAPHDBG_TOKEN_FILE=", *file));
      return;
    }
    config_->token = std::string(absl::StripAsciiWhitespace(text));
  }

  // "unix:/path" names a socket. GRAPHDBG_SOCKET is set by `graphdbg run` for
  // jobs on its own machine, and ignored where the path does not lead to it,
  // for example in a container.
  void ReadSocket() {
    absl::string_view host = config_->host;
    if (absl::ConsumePrefix(&host, "unix:")) {
      while (absl::StartsWith(host, "//")) host.remove_prefix(1);
      config_->socket = std::string(host);
      if (!absl::StartsWith(host, "/")) {
        Disable(absl::StrCat("cannot use GRAPHDBG_HOST=", config_->host,
                             ": expected unix:/PATH"));
      }
    } else if (const auto path = Value("GRAPHDBG_SOCKET");
               path && IsLoopback(config_->host) && IsOwnSocket(*path)) {
      config_->socket = *path;
    }
  }

  // A file that cannot be read disables debugging, because falling back to an
  // unencrypted connection would be unsafe.
  void ReadTls() {
    const std::pair<const char*, std::string*> files[] = {
        {"GRAPHDBG_TLS_CA", &config_->tls.authority},
        {"GRAPHDBG_TLS_CERT", &config_->tls.certificate},
        {"GRAPHDBG_TLS_KEY", &config_->tls.key}};
    for (const auto& [name, content] : files) {
      const auto file = Value(name);
      if (!file) continue;
      std::ifstream stream(*file, std::ios::binary);
      content->assign(std::istreambuf_iterator<char>(stream), {});
      if (!content->empty()) continue;
      Disable(absl::StrCat("cannot read ", name, "=", *file));
    }
    const bool presents =
        !config_->tls.certificate.empty() || !config_->tls.key.empty();
    if (config_->enabled && presents && config_->tls.authority.empty()) {
      Disable(
          "GRAPHDBG_TLS_CERT and GRAPHDBG_TLS_KEY have no effect without "
          "GRAPHDBG_TLS_CA, the file with the authority of the server's "
          "certificate");
    }
  }

  // Neither the token nor the graph leaves this machine in plain text.
  void CheckEncryption() {
    if (!config_->enabled || !config_->socket.empty() ||
        !config_->tls.authority.empty() || IsLoopback(config_->host)) {
      return;
    }
    Disable(absl::StrCat(
        "will not connect to ", config_->host,
        " without encryption, which would show the graph",
        config_->token.empty() ? "" : " and the token",
        " to the network: set GRAPHDBG_TLS_CA to the file with the authority "
        "of the server's certificate, or run 'ssh -L ",
        config_->port, ":127.0.0.1:", config_->port, " ", config_->host,
        "' and set GRAPHDBG_HOST=127.0.0.1"));
  }

  // Unknown words allow nothing, so that a mistyped limit is no permission.
  void ReadAllowed() {
    const auto text = Value("GRAPHDBG_ALLOW");
    if (!text) return;
    Allowed& allowed = config_->allowed;
    const std::pair<absl::string_view, bool*> known[] = {
        {"view", &allowed.view},
        {"control", &allowed.control},
        {"terminate", &allowed.terminate},
        {"change", &allowed.change}};
    for (const auto& [name, field] : known) *field = false;
    std::vector<std::string> unknown;
    for (absl::string_view word : absl::StrSplit(*text, ',')) {
      word = absl::StripAsciiWhitespace(word);
      const auto* it =
          std::find_if(std::begin(known), std::end(known),
                       [&](const auto& each) { return each.first == word; });
      if (it != std::end(known)) {
        *it->second = true;
      } else if (!word.empty() && word != "none") {
        unknown.emplace_back(word);
      }
    }
    if (!allowed.control) {
      // Nobody could continue the program after a pause.
      config_->wait = false;
      config_->step_limit = 0;
      config_->on_error = OnError::kContinue;
    }
    if (unknown.empty()) return;
    config_->problems.push_back(absl::StrCat(
        "ignored \"", absl::StrJoin(unknown, ","), "\" in GRAPHDBG_ALLOW=",
        *text, ": expected view, control, terminate, change or none"));
  }

  // Too many patterns redact everything, so that none is left out unnoticed.
  void ReadRedacted() {
    const auto text = Value("GRAPHDBG_REDACT");
    if (!text) return;
    std::vector<std::string> patterns;
    for (absl::string_view pattern : absl::StrSplit(*text, ',')) {
      pattern = absl::StripAsciiWhitespace(pattern);
      if (!pattern.empty()) patterns.emplace_back(pattern);
    }
    if (text->size() > conditions::kMaxSelectionPatternBytes) {
      patterns = {"**"};
      config_->problems.push_back(absl::StrCat(
          "GRAPHDBG_REDACT has ", text->size(), " bytes, of at most ",
          conditions::kMaxSelectionPatternBytes,
          ": no values are sent at all"));
    }
    config_->allowed.redacted = conditions::PatternSet(patterns);
  }

  // Patterns of names, and of op types after "op_type:". Too many are ignored,
  // so that no infinity goes unnoticed.
  void ReadIntentional() {
    const auto text = Value("GRAPHDBG_INTENTIONAL_INFINITIES");
    if (!text) return;
    if (text->size() > conditions::kMaxSelectionPatternBytes) {
      config_->problems.push_back(absl::StrCat(
          "ignored GRAPHDBG_INTENTIONAL_INFINITIES, which has ", text->size(),
          " bytes, of at most ", conditions::kMaxSelectionPatternBytes));
      return;
    }
    std::vector<std::string> names, op_types;
    for (absl::string_view entry : absl::StrSplit(*text, ',')) {
      entry = absl::StripAsciiWhitespace(entry);
      const bool is_type = absl::ConsumePrefix(&entry, "op_type:");
      if (entry.empty()) continue;
      (is_type ? op_types : names).emplace_back(entry);
      // The types of PyTorch's ops are like "aten::where".
      if (is_type) op_types.push_back(absl::StrCat("**::", entry));
    }
    config_->intentional = {conditions::PatternSet(names),
                            conditions::PatternSet(op_types)};
  }

  void ReadRecord() {
    config_->record = ReadRecordSettings(environment_, &config_->problems);
    config_->record.overhead =
        WithinLimit(config_->record.overhead, config_->overhead);
    if (!config_->record.on()) return;
    config_->serverless = true;
    for (const char* name : {"GRAPHDBG_HOST", "GRAPHDBG_PORT",
                             "MS_DEBUGGER_HOST", "MS_DEBUGGER_PORT"}) {
      if (Value(name)) config_->serverless = false;
    }
    if (!config_->serverless) return;
    // Nobody could continue the program after a pause.
    config_->wait = false;
    config_->step_limit = 0;
    config_->on_error = OnError::kContinue;
    config_->on_disconnect = OnDisconnect::kResume;
  }

  void ReadRank(const std::optional<Place>& known) {
    if (ReadRankOf("GRAPHDBG_RANK", "GRAPHDBG_WORLD_SIZE")) return;
    if (known) {
      config_->rank = known->rank;
      config_->world_size = known->world_size;
      return;
    }
    if (ReadRankOf("RANK", "WORLD_SIZE") || ReadLocalRank() ||
        ReadRankOf("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") ||
        ReadRankOf("SLURM_PROCID", "SLURM_NTASKS")) {
      return;
    }
    ReadRankOf("PMI_RANK", "PMI_SIZE");
  }

  // A name that all machines of a launch have in common; absent if there is
  // only one machine.
  std::optional<std::string> MultiMachineLaunch() const {
    if (const auto slurm = Value("SLURM_JOB_ID")) return slurm;
    // Groups of torchrun are machines.
    if (Value("GROUP_WORLD_SIZE").value_or("1") == "1") return std::nullopt;
    const auto run = Value("TORCHELASTIC_RUN_ID");
    if (run && *run != "none") return run;
    return Value("MASTER_PORT");
  }

  void ReadJob() {
    if (const auto job = Value("GRAPHDBG_JOB")) {
      config_->job = *job;
      return;
    }
    // All ranks must derive the same name, so it comes from their launcher.
    std::string launch = absl::StrCat(getpid());
    if (config_->world_size > 1) {
      const auto given = Value("GRAPHDBG_LAUNCH");
      const auto several = MultiMachineLaunch();
      launch = several ? *several : given.value_or(absl::StrCat(getppid()));
      if (!given && !several) WarnOfOtherNames();
    }
    config_->job = absl::StrCat(config_->program, "-", launch);
  }

  // Processes of other machines have other parents, whose ids become their
  // jobs' names.
  void WarnOfOtherNames() {
    for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "MPI_LOCALNRANKS"}) {
      uint32_t local = 0;
      const auto text = Value(name);
      if (!text || !absl::SimpleAtoi(*text, &local)) continue;
      if (local < config_->world_size) {
        config_->place_problems.push_back(absl::StrCat(
            "rank ", config_->rank,
            " has no name for the job in common with the ranks of other "
            "machines, so each machine has a job, and a recorded run, of its "
            "own: set GRAPHDBG_JOB to the same name everywhere"));
      }
      return;
    }
  }

 private:
  // Rank and world size have to come from the same launcher. Returns whether
  // that launcher's variables are set and valid.
  bool ReadRankOf(const char* rank_name, const char* size_name) {
    const auto rank_text = Value(rank_name);
    if (!rank_text) return false;
    const auto size_text = Value(size_name);
    uint32_t rank = 0, size = 1;
    if (!size_text && *rank_text == "0") return SetPlace(0, 1);
    if (size_text && absl::SimpleAtoi(*rank_text, &rank) &&
        absl::SimpleAtoi(*size_text, &size) && rank < size) {
      return SetPlace(rank, size);
    }
    config_->place_problems.push_back(
        absl::StrCat("ignored ", rank_name, "=", *rank_text, " with ",
                     size_name, "=", size_text.value_or("(not set)"),
                     ": expected a rank below the world size"));
    return false;
  }

  // Some launchers number only the processes of each machine.
  bool ReadLocalRank() {
    const auto local_text = Value("LOCAL_RANK");
    const auto size_text = Value("WORLD_SIZE");
    if (!local_text || !size_text) return false;
    const std::string node_text = Value("NODE_RANK").value_or("0");
    const auto per_node_text = Value("LOCAL_WORLD_SIZE");
    uint32_t local = 0, size = 0, node = 0, per_node = 0;
    const bool numbers =
        absl::SimpleAtoi(*local_text, &local) &&
        absl::SimpleAtoi(*size_text, &size) &&
        absl::SimpleAtoi(node_text, &node) &&
        (!per_node_text || absl::SimpleAtoi(*per_node_text, &per_node));
    const uint64_t rank = uint64_t{node} * per_node + local;
    if (numbers && rank < size && (node == 0 || per_node > 0)) {
      return SetPlace(static_cast<uint32_t>(rank), size);
    }
    config_->place_problems.push_back(absl::StrCat(
        "cannot derive the rank from LOCAL_RANK=", *local_text, ", NODE_RANK=",
        node_text, ", LOCAL_WORLD_SIZE=", per_node_text.value_or("(not set)"),
        " and WORLD_SIZE=", *size_text,
        ": set GRAPHDBG_RANK and GRAPHDBG_WORLD_SIZE"));
    return false;
  }

  bool SetPlace(uint32_t rank, uint32_t world_size) {
    config_->rank = rank;
    config_->world_size = world_size;
    return true;
  }

  void Disable(const std::string& problem) {
    config_->problems.push_back(
        absl::StrCat(problem, "; training continues without debugging"));
    config_->enabled = false;
  }

  const Environment& environment_;
  Config* config_;
};

std::string FileName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string ProgramName(const std::vector<std::string>& command_line) {
  if (command_line.empty()) return "program";
  const std::string program = FileName(command_line[0]);
  if (!IsPython(program)) return program;
  for (size_t i = 1; i < command_line.size(); ++i) {
    const std::string& argument = command_line[i];
    if (argument == "-m" && i + 1 < command_line.size()) {
      return command_line[i + 1];
    }
    if (argument == "-c") break;
    if (argument == "-W" || argument == "-X") {
      ++i;
    } else if (!argument.empty() && argument[0] != '-') {
      return FileName(argument);
    }
  }
  return program;
}

bool IsPython(absl::string_view program) {
  return absl::StartsWith(program, "python") || program == "torchrun";
}

std::vector<std::string> OwnCommandLine() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  std::vector<std::string> arguments = absl::StrSplit(text, '\0');
  if (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
  return arguments;
}

Config ReadConfig(const Environment& environment,
                  const std::vector<std::string>& command_line) {
  Config config;
  Reader reader(environment, &config);
  reader.Read({"GRAPHDBG_ENABLE", "ENABLE_MS_DEBUGGER"}, "0 or 1", ParseBool,
              &config.enabled);
  // A directory suffices to have a run recorded.
  if (!reader.Value("GRAPHDBG_ENABLE") && !reader.Value("ENABLE_MS_DEBUGGER")) {
    config.enabled = reader.Value("GRAPHDBG_RECORD").has_value() ||
                     reader.Value("GRAPHDBG_BLACK_BOX").has_value();
  }
  if (!config.enabled) return config;
  const auto text = [](const std::string& s) { return std::optional(s); };
  reader.Read({"GRAPHDBG_HOST", "MS_DEBUGGER_HOST"}, "a host", text,
              &config.host);
  reader.Read({"GRAPHDBG_PORT", "MS_DEBUGGER_PORT"}, "a port, 1 to 65535",
              ParsePort, &config.port);
  reader.Read({"GRAPHDBG_PARTIAL_MEM", "MS_DEBUGGER_PARTIAL_MEM"}, "0 or 1",
              ParseBool, &config.partial_memory);
  reader.Read({"GRAPHDBG_TENSOR_BUDGET"}, "a size in bytes, such as 2GiB",
              ParseBytes, &config.tensor_budget_bytes);
  reader.Read({"GRAPHDBG_OVERVIEW"}, "0 or 1", ParseBool, &config.overview);
  reader.Read({"GRAPHDBG_OVERHEAD"}, "a share above 0 and up to 1", ParseShare,
              &config.overhead);
  reader.Read({"GRAPHDBG_SOURCE_FILES"}, "0 or 1", ParseBool,
              &config.source_files);
  reader.Read({"GRAPHDBG_CAPTURE_TO"}, "a directory", text,
              &config.bundles.directory);
  reader.Read({"GRAPHDBG_CAPTURE_KEEP"}, "a number of bundles", ParseSmallCount,
              &config.bundles.keep);
  reader.Read({"GRAPHDBG_CAPTURE_UPSTREAM"}, "a number of ops", ParseSmallCount,
              &config.bundles.upstream);
  reader.Read({"GRAPHDBG_CAPTURE_SOURCES"}, "0 or 1", ParseBool,
              &config.bundles.sources);
  reader.Read({"GRAPHDBG_CAPTURE_TAPE"},
              "auto, off, forward_backward or whole_step", ParseTape,
              &config.bundles.tape);
  reader.Read({"GRAPHDBG_CAPTURE_TAPE_BUDGET"}, "a size in bytes, such as 2GiB",
              ParseBytes, &config.bundles.tape_budget);
  reader.Read({"GRAPHDBG_WAIT"}, "0 or 1", ParseBool, &config.wait);
  reader.Read({"GRAPHDBG_STEPS"}, "a number of steps", ParseCount,
              &config.step_limit);
  reader.Read({"GRAPHDBG_ON_ERROR"}, "pause, continue or auto", ParseOnError,
              &config.on_error);
  reader.Read({"GRAPHDBG_CONNECT_TIMEOUT"}, "seconds", ParseSeconds,
              &config.connect_timeout);
  reader.Read({"GRAPHDBG_ON_DISCONNECT"}, "resume, hold, stop or detach",
              ParseOnDisconnect, &config.on_disconnect);
  reader.Read({"GRAPHDBG_GRACE"}, "seconds", ParseSeconds, &config.grace);
  config.program = ProgramName(command_line);
  reader.ReadSocket();
  reader.ReadToken();
  reader.ReadTls();
  reader.CheckEncryption();
  reader.ReadAllowed();
  reader.ReadRedacted();
  reader.ReadIntentional();
  reader.ReadRank(std::nullopt);
  reader.ReadJob();
  reader.ReadRecord();
  return config;
}

void ReadPlace(const Environment& environment,
               const std::optional<Place>& known, Config* config) {
  config->rank = 0;
  config->world_size = 1;
  config->place_problems.clear();
  Reader reader(environment, config);
  reader.ReadRank(known);
  reader.ReadJob();
}

}  // namespace graphdbg::agent
