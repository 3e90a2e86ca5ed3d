// Reads the fields of a JSON object, each once and by type.
#ifndef SERVER_API_BODY_READER_H_
#define SERVER_API_BODY_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/api/json.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {

// INVALID_ARGUMENT "bad_json" if it is not a JSON object.
absl::StatusOr<Json> ParseObject(std::string_view body);

struct Scalars {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

// Keeps the first error, in a Status shared with the readers of objects
// inside. Absent fields, and null ones, are absent values.
class BodyReader {
 public:
  // `object` and `status` outlive this. `prefix` as "condition.".
  BodyReader(const Json& object, std::string prefix, absl::Status& status)
      : object_(object), prefix_(std::move(prefix)), status_(status) {}

  std::optional<std::string> Text(const char* name);
  std::optional<uint64_t> Integer(const char* name, uint64_t min, uint64_t max);
  std::optional<bool> Boolean(const char* name);
  std::optional<std::vector<std::string>> Texts(const char* name);
  // Scalars by name; "NaN", "Infinity" and "-Infinity" are numbers too, true
  // and false are 1 and 0.
  Scalars ReadScalars(const char* name);
  template <class Enum>
  std::optional<Enum> Choice(const char* name) {
    auto word = Text(name);
    if (!word) return std::nullopt;
    auto value = model::Parse<Enum>(*word);
    if (!value)
      Fail(name, "'" + *word + "' is none of " + model::AllNames<Enum>());
    return value;
  }
  // A reader of the object of this name; absent if there is none.
  std::optional<BodyReader> Object(const char* name);

  void Fail(const std::string& name, const std::string& what);
  // Fails for a field that nobody asked for.
  void RefuseOthers();

 private:
  // Null if absent.
  const Json* Find(const char* name);

  const Json& object_;
  const std::string prefix_;
  absl::Status& status_;
  std::set<std::string> asked_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_BODY_READER_H_
