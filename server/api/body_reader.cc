#include "server/api/body_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

std::optional<double> ToNumber(const ReceivedJson& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return std::nullopt;
  const std::string& word = value.get_ref<const std::string&>();
  if (word == "NaN") return std::nan("");
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ReceivedJson> ParseObject(std::string_view body) {
  ASSIGN_OR_RETURN(ReceivedJson json, ParseJson(body, "the request body"));
  if (!json.is_object()) {
    return Error(absl::StatusCode::kInvalidArgument, "bad_json",
                 "the request body is not a JSON object");
  }
  return json;
}

const ReceivedJson* BodyReader::Find(const char* name) {
  read_.insert(name);
  auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

std::optional<std::string> BodyReader::Text(const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    Fail(name, "must be a string");
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<uint64_t> BodyReader::Integer(const char* name, uint64_t min,
                                            uint64_t max) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_unsigned() || value->get<uint64_t>() < min ||
      value->get<uint64_t>() > max) {
    Fail(name, "must be an integer from " + std::to_string(min) + " to " +
                   std::to_string(max));
    return std::nullopt;
  }
  return value->get<uint64_t>();
}

std::optional<bool> BodyReader::Boolean(const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    Fail(name, "must be true or false");
    return std::nullopt;
  }
  return value->get<bool>();
}

std::optional<std::vector<std::string>> BodyReader::Texts(const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    Fail(name, "must be a list of strings");
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const ReceivedJson& item : *value) {
    if (!item.is_string()) {
      Fail(std::string(name) + "[" + std::to_string(texts.size()) + "]",
           "must be a string");
      return std::nullopt;
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::optional<std::vector<uint32_t>> BodyReader::Integers32(const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    Fail(name, "must be a list of integers");
    return std::nullopt;
  }
  std::vector<uint32_t> numbers;
  for (const ReceivedJson& item : *value) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > UINT32_MAX) {
      Fail(std::string(name) + "[" + std::to_string(numbers.size()) + "]",
           "must be an integer from 0 to " + std::to_string(UINT32_MAX));
      return std::nullopt;
    }
    numbers.push_back(static_cast<uint32_t>(item.get<uint64_t>()));
  }
  return numbers;
}

std::optional<std::vector<double>> BodyReader::Numbers(const char* name,
                                                       size_t max) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  std::vector<double> numbers;
  const auto add = [&](const ReceivedJson& item) {
    const auto number = item.is_boolean() ? std::nullopt : ToNumber(item);
    if (number) numbers.push_back(*number);
    return number.has_value();
  };
  const bool valid = value->is_array()
                         ? value->size() <= max &&
                               std::all_of(value->begin(), value->end(), add)
                         : add(*value);
  if (valid && !numbers.empty()) return numbers;
  Fail(name, "must be a number, or a list of at most " + std::to_string(max));
  return std::nullopt;
}

Scalars BodyReader::ReadScalars(const char* name) {
  Scalars scalars;
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return scalars;
  if (!value->is_object()) {
    Fail(name, "must be an object");
    return scalars;
  }
  for (const auto& [key, item] : value->items()) {
    if (auto number = ToNumber(item)) {
      scalars.numbers[key] = *number;
    } else if (item.is_string()) {
      scalars.texts[key] = item.get<std::string>();
    } else {
      Fail(std::string(name) + "." + key,
           "must be a number, a boolean or a string");
    }
  }
  return scalars;
}

std::optional<BodyReader> BodyReader::Object(const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    Fail(name, "must be an object");
    return std::nullopt;
  }
  return BodyReader(*value, prefix_ + name + ".", status_);
}

std::optional<std::vector<BodyReader>> BodyReader::Objects(const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    Fail(name, "must be a list of objects");
    return std::nullopt;
  }
  std::vector<BodyReader> readers;
  for (const ReceivedJson& item : *value) {
    const std::string place =
        std::string(name) + "[" + std::to_string(readers.size()) + "]";
    if (!item.is_object()) {
      Fail(place, "must be an object");
      return std::nullopt;
    }
    readers.emplace_back(item, prefix_ + place + ".", status_);
  }
  return readers;
}

std::optional<std::vector<BodyReader::WordOrObject>> BodyReader::WordsOrObjects(
    const char* name) {
  const ReceivedJson* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    Fail(name, "must be a list");
    return std::nullopt;
  }
  std::vector<WordOrObject> items;
  for (const ReceivedJson& item : *value) {
    const std::string place =
        std::string(name) + "[" + std::to_string(items.size()) + "]";
    if (item.is_string()) {
      items.push_back({place, item.get<std::string>(), std::nullopt});
    } else if (item.is_object()) {
      items.push_back(
          {place, "", BodyReader(item, prefix_ + place + ".", status_)});
    } else {
      Fail(place, "must be a string or an object");
      return std::nullopt;
    }
  }
  return items;
}

void BodyReader::Fail(const std::string& name, const std::string& what) {
  if (!status_.ok()) return;
  std::string field = prefix_ + name;
  status_ = WithField(Error(absl::StatusCode::kInvalidArgument, "invalid_field",
                            "'" + field + "' " + what),
                      field);
}

void BodyReader::RefuseOthers() {
  for (const auto& [key, value] : object_.items()) {
    if (read_.count(key) == 0) Fail(key, "is not a field of this request");
  }
}

}  // namespace graphdbg::api
