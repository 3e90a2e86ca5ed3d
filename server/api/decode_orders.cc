#include "server/api/decode_orders.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/api/body_reader.h"
#include "server/api/tensor_arguments.h"

namespace graphdbg::api {
namespace {

// Agents refuse more.
constexpr size_t kMaxExperiments = 16;
constexpr size_t kMaxChangedValues = 10'000;
constexpr uint64_t kMaxAnswerBytes = uint64_t{256} << 10;
constexpr uint64_t kMaxInteger32 = std::numeric_limits<uint32_t>::max();

std::optional<uint32_t> Integer32(BodyReader& body, const char* name) {
  const auto number = body.Integer(name, 0, kMaxInteger32);
  if (!number) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

// Reads "name", a tensor such as "forward/fc1:0".
void ReadName(BodyReader& body, model::TensorQuery& query) {
  const std::string name = body.Text("name").value_or("");
  if (name.empty()) {
    body.Fail("name", "is missing");
  } else if (!ParseTensorName(name, query)) {
    body.Fail("name", "must be a node and a slot, such as 'forward/fc1:0'");
  }
}

std::optional<model::JobChange> ReadChange(BodyReader& body,
                                           ChangeRequest& request) {
  const std::string change = body.Text("change").value_or("");
  request.description = change;
  if (change == "values") {
    ReadName(body, request.query);
    request.query.slice = body.Text("slice").value_or("");
    const auto values = body.Numbers("values", kMaxChangedValues);
    if (!values) body.Fail("values", "is missing");
    request.description = absl::StrCat(
        "values of ", request.query.node, ":", request.query.slot,
        request.query.slice.empty() ? "" : " ", request.query.slice);
    return model::SetValues{values.value_or(std::vector<double>())};
  }
  if (change == "learning_rate") {
    const auto value = body.Numbers("value", 1);
    if (!value || value->empty()) body.Fail("value", "is missing");
    model::SetLearningRate rate;
    if (value && !value->empty()) rate.value = value->front();
    rate.optimizer = Integer32(body, "optimizer");
    rate.group = Integer32(body, "group");
    request.description = absl::StrCat("learning rate ", rate.value);
    return rate;
  }
  if (change == "skip_step") return model::SkipStep();
  if (change == "restore_step") return model::RestoreStep();
  body.Fail("change", "is '" + change +
                          "', which is not one of values, learning_rate, "
                          "skip_step, restore_step");
  return std::nullopt;
}

}  // namespace

absl::StatusOr<WhatIfRequest> DecodeWhatIf(std::string_view text) {
  return DecodeBody<WhatIfRequest>(text, [](BodyReader& body) {
    WhatIfRequest request;
    request.hit = body.Integer("hit", 1, std::numeric_limits<uint64_t>::max());
    if (!request.hit) {
      ReadName(body, request.query);
      request.query.rank = Integer32(body, "rank").value_or(0);
    }
    model::ExperimentQuery experiment;
    experiment.experiments =
        body.Texts("experiments").value_or(std::vector<std::string>());
    if (experiment.experiments.size() > kMaxExperiments) {
      body.Fail("experiments", "are too many");
    }
    request.query.want_data = true;
    request.query.max_bytes = kMaxAnswerBytes;
    request.query.experiment = std::move(experiment);
    return request;
  });
}

absl::StatusOr<ChangeRequest> DecodeChange(std::string_view text) {
  return DecodeBody<ChangeRequest>(text, [](BodyReader& body) {
    ChangeRequest request;
    request.query.change = ReadChange(body, request);
    request.rank = Integer32(body, "rank");
    request.query.want_data = true;
    request.query.max_bytes = kMaxAnswerBytes;
    return request;
  });
}

}  // namespace graphdbg::api
