#include "server/runs/run_info.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recorded {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

// Reads fields of an object that may be anything.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  const Json& At(const char* name) const {
    static const Json kNull;
    if (!object_.is_object()) return kNull;
    const auto found = object_.find(name);
    return found == object_.end() ? kNull : *found;
  }
  std::string Text(const char* name) const {
    const Json& value = At(name);
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  template <class Integer>
  Integer Number(const char* name, Integer otherwise) const {
    const Json& value = At(name);
    if (!value.is_number_integer()) return otherwise;
    // Negative numbers are signed in nlohmann's library, all others unsigned.
    if (value.is_number_unsigned()) {
      const auto number = value.get<uint64_t>();
      const auto most =
          static_cast<uint64_t>(std::numeric_limits<Integer>::max());
      return number <= most ? static_cast<Integer>(number) : otherwise;
    }
    const auto number = value.get<int64_t>();
    if (!std::numeric_limits<Integer>::is_signed ||
        number < static_cast<int64_t>(std::numeric_limits<Integer>::min())) {
      return otherwise;
    }
    return static_cast<Integer>(number);
  }

 private:
  const Json& object_;
};

// Empty if the text has anything else than digits.
std::string HexBytes(const std::string& text) {
  const bool valid =
      std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
  return valid && text.size() % 2 == 0 ? absl::HexStringToBytes(text) : "";
}

absl::StatusOr<Json> ParseFile(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return absl::DataLossError("it is no JSON object");
  const int format = Fields(json).Number<int>("format", kFormat);
  if (format > kFormat) {
    return absl::DataLossError(absl::StrCat("version ", format,
                                            " of the format is not known; this "
                                            "program reads version ",
                                            kFormat));
  }
  return json;
}

std::optional<RankEnd> EndOf(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const Fields fields(json);
  RankEnd end;
  end.reason = fields.Text("reason");
  if (fields.At("exit_code").is_number_integer()) {
    end.exit_code = fields.Number<int32_t>("exit_code", 0);
  }
  if (fields.At("exception").is_object()) {
    const Fields exception(fields.At("exception"));
    end.exception =
        model::Exception{exception.Text("type"), exception.Text("message"),
                         exception.Text("traceback"), exception.Text("node")};
  }
  return end;
}

std::vector<model::Collection> CollectionsOf(const Json& config) {
  std::vector<model::Collection> collections;
  const Json& list = Fields(config).At("collections");
  if (!list.is_array()) return collections;
  std::string level = Fields(Fields(config).At("record")).Text("level");
  // The default of the configuration.
  if (level.empty()) level = "statistics";
  for (const Json& entry : list) {
    const Fields fields(entry);
    model::Collection collection;
    collection.name = fields.Text("name");
    collection.level = fields.Text("level");
    if (collection.level.empty()) collection.level = level;
    if (!collection.name.empty()) collections.push_back(std::move(collection));
  }
  return collections;
}

}  // namespace

absl::StatusOr<RunInfo> ParseRunInfo(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseFile(text));
  const Fields fields(json);
  RunInfo info;
  info.program = fields.Text("program");
  info.resumes = fields.Text("resumes");
  info.started_unix_nano = fields.Number<int64_t>("started_unix_ns", 0);
  info.world_size = fields.Number<uint32_t>("world_size", 1);
  return info;
}

absl::StatusOr<RankInfo> ParseRankInfo(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseFile(text));
  const Fields fields(json);
  RankInfo info;
  info.job_name = fields.Text("job_name");
  info.program = fields.Text("program");
  info.framework = fields.Text("framework");
  info.framework_version = fields.Text("framework_version");
  info.device = fields.Text("device");
  info.device_id = fields.Number<int32_t>("device_id", 0);
  info.host = fields.Text("host");
  info.pid = fields.Number<uint64_t>("pid", 0);
  info.world_size = fields.Number<uint32_t>("world_size", 1);
  info.started_unix_nano = fields.Number<int64_t>("started_unix_ns", 0);
  const std::string ring = fields.Text("ring");
  if (!ring.empty() && ring.front() == '/') info.ring_path = ring;
  const std::string incarnation = HexBytes(fields.Text("incarnation"));
  if (incarnation.size() == info.incarnation.size()) {
    std::copy(incarnation.begin(), incarnation.end(), info.incarnation.begin());
  }
  info.collections = CollectionsOf(fields.At("config"));
  info.ended = EndOf(fields.At("ended"));
  return info;
}

std::map<std::string, std::vector<TensorKey>> ParseCollections(
    std::string_view lines) {
  std::map<std::string, std::vector<TensorKey>> collections;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    if (end == std::string_view::npos) break;
    const Json json = Json::parse(lines.substr(0, end), nullptr, false);
    lines.remove_prefix(end + 1);
    const Fields fields(json);
    const Json& tensors = fields.At("tensors");
    if (!tensors.is_array()) continue;
    std::vector<TensorKey>& keys = collections[fields.Text("collection")];
    for (const Json& tensor : tensors) {
      const bool pair = tensor.is_array() && tensor.size() == 2 &&
                        tensor[0].is_number_unsigned() &&
                        tensor[1].is_number_unsigned() &&
                        tensor[0].get<uint64_t>() <= UINT32_MAX &&
                        tensor[1].get<uint64_t>() <= UINT32_MAX;
      if (!pair) continue;
      keys.push_back({tensor[0].get<uint32_t>(), tensor[1].get<uint32_t>()});
    }
  }
  return collections;
}

}  // namespace graphdbg::recorded
