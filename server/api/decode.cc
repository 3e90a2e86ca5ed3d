#include "server/api/decode.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/tensor/dtype.h"
#include "proto/wire/status_macros.h"
#include "server/api/body_reader.h"
#include "server/api/decode_actions.h"
#include "server/api/decode_rules.h"
#include "server/api/json.h"

namespace graphdbg::api {
namespace {

// Limits of the agents' wire (proto/wire/limits.h).
constexpr size_t kMaxDirectoryBytes = 4096;
constexpr size_t kMaxSettingsBytes = size_t{64} << 10;

constexpr uint32_t kMaxIgnoredHits = 1'000'000'000;
constexpr uint64_t kMaxSteps = 1'000'000'000;
constexpr size_t kMaxNameBytes = 64;
// Ten years.
constexpr uint64_t kMaxTokenSeconds = 315'360'000;

std::optional<model::Condition> ReadCondition(BodyReader& body) {
  auto reader = body.Object("condition");
  if (!reader) return std::nullopt;
  model::Condition condition;
  Scalars params = reader->ReadScalars("params");
  condition.params = std::move(params.numbers);
  condition.text_params = std::move(params.texts);
  auto id = reader->Text("id");
  if (!id) reader->Fail("id", "is missing");
  condition.id = id.value_or("");
  reader->RefuseOthers();
  return condition;
}

// `read` makes an item of each text, or returns nothing after a failure.
template <class Item, class Read>
bool ReadItems(BodyReader& body, const char* name, std::vector<Item>& items,
               const Read& read) {
  const auto texts = body.Texts(name);
  if (!texts) return false;
  items.clear();
  for (const std::string& text : *texts) {
    const auto item = read(text);
    if (!item) {
      body.Fail(absl::StrCat(name, "[", items.size(), "]"),
                "'" + text + "' is none of " + read.names());
      break;
    }
    items.push_back(*item);
  }
  return true;
}

struct ToCategory {
  std::optional<model::Category> operator()(const std::string& text) const {
    return model::Parse<model::Category>(text);
  }
  std::string names() const { return model::AllNames<model::Category>(); }
};

struct ToDType {
  std::optional<DType> operator()(const std::string& text) const {
    const auto dtype = ParseDType(text);
    return dtype == DType::kUnspecified ? std::nullopt : dtype;
  }
  std::string names() const {
    std::vector<std::string> names;
    for (int i = 1; DTypeFromNumber(i) != DType::kOther || i <= 16; ++i) {
      names.push_back(ToString(DTypeFromNumber(i)));
    }
    return absl::StrJoin(names, ", ");
  }
};

// Whether the body contains any of the lists. Those it does not contain keep
// their values.
bool ReadLists(BodyReader& body, conditions::NodeLists& lists) {
  bool given = false;
  const auto take = [&](const char* name, std::vector<std::string>& into) {
    auto texts = body.Texts(name);
    if (!texts) return;
    into = std::move(*texts);
    given = true;
  };
  take("nodes", lists.nodes);
  take("scopes", lists.scopes);
  take("patterns", lists.patterns);
  take("regexes", lists.regexes);
  take("op_types", lists.op_types);
  take("sources", lists.sources);
  given |= ReadItems(body, "categories", lists.categories, ToCategory());
  given |= ReadItems(body, "dtypes", lists.dtypes, ToDType());
  if (auto ranks = body.Integers32("ranks")) {
    lists.ranks = std::move(*ranks);
    given = true;
  }
  return given;
}

// Absent if the body contains no field of the selection.
std::optional<model::Selection> ReadSelection(BodyReader& body,
                                              model::Selection selection) {
  bool given = ReadLists(body, selection);
  if (auto exclude = body.Object("exclude")) {
    given = true;
    selection.exclude = {};
    ReadLists(*exclude, selection.exclude);
    exclude->RefuseOthers();
  }
  if (!given) return std::nullopt;
  return selection;
}

// The name of a person or a script. `own` is the caller's, who may be the
// owner.
std::optional<std::string> ReadHolder(BodyReader& body,
                                      const std::string& own) {
  const auto name = body.Text("name");
  if (!name || *name == own) return name;
  const bool printable = std::all_of(name->begin(), name->end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isalnum(byte) || absl::StrContains(".-_@ ", c);
  });
  if (name->empty() || name->size() > kMaxNameBytes || !printable ||
      name->front() == ' ' || name->back() == ' ') {
    body.Fail("name",
              "must consist of 1 to 64 letters, digits, spaces and .-_@");
  } else if (*name == auth::kOwner) {
    body.Fail("name", "is reserved for the token of the data directory");
  }
  return name;
}

std::optional<auth::Role> ReadRole(BodyReader& body) {
  const auto word = body.Text("role");
  if (!word) return std::nullopt;
  const auto role = auth::ParseRole(*word);
  if (!role) {
    body.Fail("role",
              "is '" + *word + "', which is not one of view, control, admin");
  }
  return role;
}

model::PassedNodes ReadPassedNodes(BodyReader& body, model::ControlVerb verb) {
  model::PassedNodes passed;
  passed.within = body.Text("within");
  passed.outside = body.Text("outside");
  const auto other_line = body.Boolean("other_line");
  passed.other_line = other_line.value_or(false);
  const char* const given = passed.outside  ? "outside"
                            : passed.within ? "within"
                            : other_line    ? "other_line"
                                            : nullptr;
  if (given != nullptr && verb != model::ControlVerb::kNextNode) {
    body.Fail(given, "is only for next_node");
  } else if (passed.within && passed.outside) {
    body.Fail("outside", "cannot be combined with \"within\"");
  }
  return passed;
}

std::optional<uint32_t> ReadIgnoreCount(BodyReader& body) {
  const auto count = body.Integer("ignore_count", 0, kMaxIgnoredHits);
  if (!count) return std::nullopt;
  return static_cast<uint32_t>(*count);
}

std::optional<std::string> ReadGroup(BodyReader& body) {
  auto group = body.Text("group");
  if (group && group->size() > kMaxNameBytes) {
    body.Fail("group", "must have at most 64 bytes");
  }
  return group;
}

model::WatchpointSpec ReadWatchpoint(BodyReader& body) {
  model::WatchpointSpec spec;
  auto condition = ReadCondition(body);
  if (!condition) body.Fail("condition", "is missing");
  spec.condition = std::move(condition).value_or(model::Condition{});
  spec.selection = ReadSelection(body, {}).value_or(model::Selection{});
  spec.pause =
      body.Choice<model::PauseMode>("pause").value_or(model::PauseMode::kNode);
  spec.enabled = body.Boolean("enabled").value_or(true);
  spec.once = body.Boolean("once").value_or(false);
  spec.ignore_count = ReadIgnoreCount(body).value_or(0);
  spec.muted_until_step =
      body.Integer("muted_until_step", 0, kMaxSteps).value_or(0);
  spec.group = ReadGroup(body).value_or("");
  spec.actions = ReadActions(body).value_or(std::vector<model::Action>());
  return spec;
}

}  // namespace

absl::StatusOr<model::ControlRequest> DecodeControl(std::string_view text) {
  return DecodeBody<model::ControlRequest>(text, [&](BodyReader& body) {
    model::ControlRequest request;
    auto verb = body.Choice<model::ControlVerb>("command");
    if (!verb) body.Fail("command", "is missing");
    request.verb = verb.value_or(model::ControlVerb::kContinue);
    request.steps = body.Integer("steps", 1, kMaxSteps).value_or(1);
    request.node = body.Text("node").value_or("");
    if (request.verb == model::ControlVerb::kContinueTo &&
        request.node.empty()) {
      body.Fail("node", "is missing: the node to continue to");
    }
    request.pending = body.Boolean("pending").value_or(false);
    request.passed = ReadPassedNodes(body, request.verb);
    auto rank = body.Integer("rank", 0, std::numeric_limits<uint32_t>::max());
    if (rank) request.rank = static_cast<uint32_t>(*rank);
    return request;
  });
}

absl::StatusOr<model::Condition> DecodeCondition(std::string_view text) {
  return DecodeBody<model::Condition>(text, [&](BodyReader& body) {
    auto condition = ReadCondition(body);
    if (!condition) body.Fail("condition", "is missing");
    return std::move(condition).value_or(model::Condition{});
  });
}

absl::StatusOr<model::WatchpointSpec> DecodeWatchpoint(std::string_view text) {
  return DecodeBody<model::WatchpointSpec>(
      text, [](BodyReader& body) { return ReadWatchpoint(body); });
}

absl::StatusOr<model::CheckSpec> DecodeCheck(std::string_view text) {
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  return DecodeBody<model::CheckSpec>(text, [&](BodyReader& body) {
    model::CheckSpec spec;
    spec.rules = ReadRules(body);
    if (auto watchpoint = body.Object("watchpoint")) {
      spec.watchpoint = ReadWatchpoint(*watchpoint);
      watchpoint->RefuseOthers();
      if (!spec.rules.empty()) body.Fail("rules", "come without a watchpoint");
    } else if (spec.rules.empty()) {
      body.Fail("watchpoint", "is missing, and so are rules");
    }
    if (auto steps = body.Object("steps")) {
      spec.from = steps->Integer("from", 0, kLast).value_or(0);
      spec.to = steps->Integer("to", 0, kLast).value_or(kLast);
      steps->RefuseOthers();
    }
    spec.ranks = body.Integers32("ranks").value_or(std::vector<uint32_t>());
    return spec;
  });
}

absl::StatusOr<model::WatchpointChange> DecodeWatchpointChange(
    std::string_view text, const model::WatchpointSpec& old) {
  return DecodeBody<model::WatchpointChange>(text, [&](BodyReader& body) {
    model::WatchpointChange change;
    change.condition = ReadCondition(body);
    change.selection = ReadSelection(body, old.selection);
    change.pause = body.Choice<model::PauseMode>("pause");
    change.enabled = body.Boolean("enabled");
    change.once = body.Boolean("once");
    change.ignore_count = ReadIgnoreCount(body);
    change.muted_until_step = body.Integer("muted_until_step", 0, kMaxSteps);
    change.group = ReadGroup(body);
    change.actions = ReadActions(body);
    return change;
  });
}

absl::StatusOr<model::RecordingSpec> DecodeRecording(std::string_view text) {
  return DecodeBody<model::RecordingSpec>(text, [&](BodyReader& body) {
    model::RecordingSpec spec;
    const auto on = body.Boolean("on");
    if (!on) body.Fail("on", "is missing");
    spec.on = on.value_or(false);
    spec.directory = body.Text("directory").value_or("");
    const auto level = body.Text("level");
    const auto keep = body.Text("keep");
    const auto collections = body.Texts("collections");
    if (!spec.on && (level || keep || collections || !spec.directory.empty())) {
      body.Fail("on", "is false, so no other field may be given");
    }
    if (spec.directory.size() > kMaxDirectoryBytes) {
      body.Fail("directory", "is too long");
    }
    // The agent knows the words, and refuses others.
    Json settings = Json::object();
    if (level) settings["record"]["level"] = *level;
    if (keep) settings["record"]["keep"] = *keep;
    if (collections) {
      settings["collections"] = Json::array();
      for (const std::string& name : *collections) {
        settings["collections"].push_back({{"name", name}});
      }
    }
    if (!settings.empty()) spec.settings = settings.dump();
    if (spec.settings.size() > kMaxSettingsBytes) {
      body.Fail("collections", "are too many");
    }
    return spec;
  });
}

absl::StatusOr<CatchRequest> DecodeCatch(std::string_view text) {
  return DecodeBody<CatchRequest>(text, [&](BodyReader& body) {
    CatchRequest request;
    auto node = body.Text("node");
    if (!node) body.Fail("node", "is missing");
    request.node = node.value_or("");
    request.rank = static_cast<uint32_t>(
        body.Integer("rank", 0, std::numeric_limits<uint32_t>::max())
            .value_or(0));
    return request;
  });
}

absl::Status DecodeNothing(std::string_view text) {
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader(object, "", status).RefuseOthers();
  return status;
}

absl::StatusOr<LoginCodeRequest> DecodeLoginCodeRequest(
    std::string_view text, const auth::Principal& caller) {
  if (text.empty()) return LoginCodeRequest{caller.name, caller.role};
  return DecodeBody<LoginCodeRequest>(text, [&](BodyReader& body) {
    LoginCodeRequest request;
    request.name = ReadHolder(body, caller.name).value_or(caller.name);
    request.role = ReadRole(body).value_or(caller.role);
    request.embed = body.Boolean("embed").value_or(false);
    return request;
  });
}

absl::StatusOr<TokenRequest> DecodeTokenRequest(std::string_view text) {
  return DecodeBody<TokenRequest>(text, [&](BodyReader& body) {
    TokenRequest request;
    const auto name = ReadHolder(body, "");
    if (!name) body.Fail("name", "is missing");
    request.name = name.value_or("");
    const auto role = ReadRole(body);
    if (!role) body.Fail("role", "is missing: view, control or admin");
    request.role = role.value_or(auth::Role::kView);
    const auto lifetime =
        body.Integer("expires_in_seconds", 1, kMaxTokenSeconds);
    if (lifetime) {
      request.lifetime = absl::Seconds(static_cast<int64_t>(*lifetime));
    }
    return request;
  });
}

absl::StatusOr<std::string> DecodeLogin(std::string_view text) {
  return DecodeBody<std::string>(text, [&](BodyReader& body) {
    auto code = body.Text("code");
    if (!code) body.Fail("code", "is missing");
    return code.value_or("");
  });
}

}  // namespace graphdbg::api
