#include "agent/core/json_fields.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent::json_fields {

using Json = nlohmann::ordered_json;

absl::Status Wrong(absl::string_view key, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": expected ", expected));
}

const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

absl::Status ReadTexts(const Json& object, const char* key,
                       std::vector<std::string>* to) {
  const Json* const list = Find(object, key);
  if (list == nullptr) return absl::OkStatus();
  if (!list->is_array()) return Wrong(key, "a list of texts");
  for (const Json& text : *list) {
    if (!text.is_string()) return Wrong(key, "a list of texts");
    to->push_back(text.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ReadCategories(const Json& object,
                            std::vector<conditions::Category>* to) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ReadTexts(object, "categories", &names));
  static const std::map<std::string, conditions::Category> kCategories = {
      {"other", conditions::Category::kOther},
      {"weight", conditions::Category::kWeight},
      {"gradient", conditions::Category::kGradient},
      {"activation", conditions::Category::kActivation},
      {"optimizer", conditions::Category::kOptimizer}};
  for (const std::string& name : names) {
    const auto known = kCategories.find(name);
    if (known == kCategories.end()) {
      return Wrong("categories", "names of categories");
    }
    to->push_back(known->second);
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::agent::json_fields
