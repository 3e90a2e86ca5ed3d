// Reads the fields of a JSON object by name and type.
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
#include "proto/wire/status_macros.h"
#include "server/api/json_reading.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {

// INVALID_ARGUMENT "bad_json" if `body` is not a JSON object within the limits
// of ParseJson.
absl::StatusOr<ReceivedJson> ParseObject(std::string_view body);

struct Scalars {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

// Keeps the first error, in a Status that it shares with the readers of nested
// objects. Fields that are null count as absent.
class BodyReader {
 public:
  // `object` and `status` must outlive this object. `prefix` is the path of a
  // nested object, for example "condition.".
  BodyReader(const ReceivedJson& object, std::string prefix,
             absl::Status& status)
      : object_(object), prefix_(std::move(prefix)), status_(status) {}

  std::optional<std::string> Text(const char* name);
  std::optional<uint64_t> Integer(const char* name, uint64_t min, uint64_t max);
  std::optional<bool> Boolean(const char* name);
  std::optional<std::vector<std::string>> Texts(const char* name);
  // A list of 32-bit unsigned integers.
  std::optional<std::vector<uint32_t>> Integers32(const char* name);
  // A list of at most `max` numbers, or a number for a list of one. The strings
  // "NaN", "Infinity" and "-Infinity" count as numbers.
  std::optional<std::vector<double>> Numbers(const char* name, size_t max);
  // Reads an object whose values are scalars. The strings "NaN", "Infinity" and
  // "-Infinity" count as numbers, and true and false as 1 and 0.
  Scalars ReadScalars(const char* name);
  template <class Enum>
  std::optional<Enum> Choice(const char* name) {
    auto word = Text(name);
    if (!word) return std::nullopt;
    auto value = model::Parse<Enum>(*word);
    if (!value) {
      Fail(name, "is '" + *word + "', which is not one of " +
                     model::AllNames<Enum>());
    }
    return value;
  }
  // An item of a list of words and objects: one of both.
  struct WordOrObject;
  // The items of such a list, for errors by their places: "actions[1]".
  std::optional<std::vector<WordOrObject>> WordsOrObjects(const char* name);
  // A reader for a nested object.
  std::optional<BodyReader> Object(const char* name);
  // Readers for a list of nested objects.
  std::optional<std::vector<BodyReader>> Objects(const char* name);

  // The name of some field; empty if there is none.
  std::string AnyName() const {
    return object_.empty() ? "" : object_.begin().key();
  }

  void Fail(const std::string& name, const std::string& what);
  // Fails if the object has a field that has not been read.
  void RefuseOthers();

 private:
  // Null if absent.
  const ReceivedJson* Find(const char* name);

  const ReceivedJson& object_;
  const std::string prefix_;
  absl::Status& status_;
  std::set<std::string> read_;
};

struct BodyReader::WordOrObject {
  std::string place;
  std::string word;
  std::optional<BodyReader> object;
};

// Parses `text` and has `read` read the fields of the body into a Result. The
// error is the first of them; fields that nobody read are errors, too.
template <class Result, class Read>
absl::StatusOr<Result> DecodeBody(std::string_view text, const Read& read) {
  ASSIGN_OR_RETURN(const ReceivedJson object, ParseObject(text));
  absl::Status status;
  BodyReader body(object, "", status);
  Result result = read(body);
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return result;
}

}  // namespace graphdbg::api

#endif  // SERVER_API_BODY_READER_H_
