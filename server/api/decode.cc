#include "server/api/decode.h"

#include <limits>
#include <optional>
#include <utility>

#include "proto/wire/status_macros.h"
#include "server/api/body_reader.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kMaxSteps = 1'000'000'000;

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

// Absent if the body contains no field of the selection.
std::optional<model::Selection> ReadSelection(BodyReader& body,
                                              model::Selection selection) {
  bool given = false;
  auto take = [&](const char* name, std::vector<std::string>& into) {
    auto texts = body.Texts(name);
    if (!texts) return;
    into = std::move(*texts);
    given = true;
  };
  take("nodes", selection.nodes);
  take("scopes", selection.scopes);
  take("patterns", selection.patterns);
  auto words = body.Texts("categories");
  if (words) {
    given = true;
    selection.categories.clear();
    for (const std::string& word : *words) {
      auto category = model::Parse<model::Category>(word);
      if (!category) {
        body.Fail(
            "categories[" + std::to_string(selection.categories.size()) + "]",
            "'" + word + "' is none of " + model::AllNames<model::Category>());
        break;
      }
      selection.categories.push_back(*category);
    }
  }
  if (!given) return std::nullopt;
  return selection;
}

}  // namespace

absl::StatusOr<model::ControlRequest> DecodeControl(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  model::ControlRequest request;
  auto verb = body.Choice<model::ControlVerb>("command");
  if (!verb) body.Fail("command", "is missing");
  request.verb = verb.value_or(model::ControlVerb::kContinue);
  request.steps = body.Integer("steps", 1, kMaxSteps).value_or(1);
  request.node = body.Text("node").value_or("");
  if (request.verb == model::ControlVerb::kContinueTo && request.node.empty()) {
    body.Fail("node", "is missing: the node to continue to");
  }
  request.pending = body.Boolean("pending").value_or(false);
  auto rank = body.Integer("rank", 0, std::numeric_limits<uint32_t>::max());
  if (rank) request.rank = static_cast<uint32_t>(*rank);
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return request;
}

absl::StatusOr<model::Condition> DecodeCondition(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  auto condition = ReadCondition(body);
  if (!condition) body.Fail("condition", "is missing");
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return *std::move(condition);
}

absl::StatusOr<model::WatchpointSpec> DecodeWatchpoint(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  model::WatchpointSpec spec;
  auto condition = ReadCondition(body);
  if (!condition) body.Fail("condition", "is missing");
  spec.condition = std::move(condition).value_or(model::Condition{});
  spec.selection = ReadSelection(body, {}).value_or(model::Selection{});
  spec.pause =
      body.Choice<model::PauseMode>("pause").value_or(model::PauseMode::kNode);
  spec.enabled = body.Boolean("enabled").value_or(true);
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return spec;
}

absl::StatusOr<model::WatchpointChange> DecodeWatchpointChange(
    std::string_view text, const model::WatchpointSpec& old) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  model::WatchpointChange change;
  change.condition = ReadCondition(body);
  change.selection = ReadSelection(body, old.selection);
  change.pause = body.Choice<model::PauseMode>("pause");
  change.enabled = body.Boolean("enabled");
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return change;
}

absl::StatusOr<CatchRequest> DecodeCatch(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  CatchRequest request;
  auto node = body.Text("node");
  if (!node) body.Fail("node", "is missing");
  request.node = node.value_or("");
  request.rank = static_cast<uint32_t>(
      body.Integer("rank", 0, std::numeric_limits<uint32_t>::max())
          .value_or(0));
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return request;
}

absl::Status DecodeNothing(std::string_view text) {
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader(object, "", status).RefuseOthers();
  return status;
}

absl::StatusOr<std::string> DecodeLogin(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  auto code = body.Text("code");
  if (!code) body.Fail("code", "is missing");
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return *code;
}

}  // namespace graphdbg::api
