#include "server/api/json_reading.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

// Builds a value from the parser's events. Returning false ends the parse.
class Builder final : public nlohmann::json_sax<ReceivedJson> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(value);
  }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    return Open(ReceivedJson::object());
  }
  bool key(string_t& name) override {
    if (++open_.back().keys > kMaxJsonKeys) {
      return Exceed(
          absl::StrCat("an object with more than ", kMaxJsonKeys, " keys"));
    }
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(ReceivedJson::array()); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

  ReceivedJson TakeRoot() { return std::move(root_); }
  // The limit that is exceeded, as text; empty if none is.
  const std::string& excess() const { return excess_; }

 private:
  struct Container {
    ReceivedJson* value;
    // Repeated keys count as well.
    size_t keys = 0;
    string_t key = {};
  };

  bool Exceed(std::string excess) {
    excess_ = std::move(excess);
    return false;
  }

  bool Add(ReceivedJson value) { return Insert(std::move(value)) != nullptr; }

  // Returns where the value is stored, or null if there are too many.
  ReceivedJson* Insert(ReceivedJson value) {
    if (++values_ > kMaxJsonValues) {
      Exceed(absl::StrCat("more than ", kMaxJsonValues, " values"));
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    Container& parent = open_.back();
    if (parent.value->is_object()) {
      return &((*parent.value)[parent.key] = std::move(value));
    }
    parent.value->push_back(std::move(value));
    return &parent.value->back();
  }

  bool Open(ReceivedJson empty) {
    if (open_.size() == kMaxJsonDepth) {
      return Exceed(absl::StrCat("more than ", kMaxJsonDepth,
                                 " levels of nested lists and objects"));
    }
    ReceivedJson* const container = Insert(std::move(empty));
    if (container == nullptr) return false;
    // A list that grows moves its elements only while all of them are closed.
    open_.push_back({container});
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  ReceivedJson root_;
  std::vector<Container> open_;
  size_t values_ = 0;
  std::string excess_;
};

}  // namespace

absl::StatusOr<ReceivedJson> ParseJson(std::string_view text,
                                       std::string_view what) {
  const std::string subject(what);
  Builder builder;
  if (ReceivedJson::sax_parse(text, &builder)) return builder.TakeRoot();
  if (!builder.excess().empty()) {
    return Error(absl::StatusCode::kInvalidArgument, "bad_json",
                 subject + " has " + builder.excess());
  }
  return Error(absl::StatusCode::kInvalidArgument, "bad_json",
               subject + " is not valid JSON");
}

}  // namespace graphdbg::api
