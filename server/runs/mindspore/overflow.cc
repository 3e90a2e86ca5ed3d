#include "server/runs/mindspore/overflow.h"

#include <nlohmann/json.hpp>

namespace graphdbg::dumps {
namespace {

using Json = nlohmann::json;

uint64_t NumberAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned()
             ? found->get<uint64_t>()
             : 0;
}

}  // namespace

std::vector<OverflowTask> ParseOverflow(std::string_view text) {
  std::vector<OverflowTask> tasks;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return tasks;
  for (const char* unit : {"DHA Atomic Add", "L2 Atomic Add", "AI Core"}) {
    const auto found = json.find(unit);
    if (found == json.end() || !found->is_object()) continue;
    if (NumberAt(*found, "status") == 0) continue;
    tasks.push_back(
        {NumberAt(*found, "task_id"), NumberAt(*found, "stream_id")});
  }
  return tasks;
}

std::shared_ptr<const model::Condition> OverflowCondition() {
  static const auto* const kCondition = [] {
    auto condition = std::make_shared<model::Condition>();
    condition->id = "operator_overflow";
    return new std::shared_ptr<const model::Condition>(std::move(condition));
  }();
  return *kCondition;
}

}  // namespace graphdbg::dumps
