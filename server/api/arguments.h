// Reads the parameters of a query by name and type.
#ifndef SERVER_API_ARGUMENTS_H_
#define SERVER_API_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/http/message.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {

// INVALID_ARGUMENT, naming the parameter, if the query has a parameter that is
// not in `known` or that occurs twice.
absl::Status CheckQueryNames(const http::Request& request,
                             const std::vector<std::string_view>& known);

// Keeps the first error. Read all parameters, then check status() once; values
// are only meaningful if it is OK. An empty value counts as absent.
class Arguments {
 public:
  // `request` must outlive this object.
  explicit Arguments(const http::Request& request) : request_(request) {}

  std::string Text(std::string_view name);
  std::string RequiredText(std::string_view name);
  std::optional<uint64_t> Integer(std::string_view name, uint64_t min,
                                  uint64_t max);
  // A 32-bit unsigned integer.
  std::optional<uint32_t> Integer32(std::string_view name);
  // A finite number that is at least `min`.
  std::optional<double> Real(std::string_view name, double min);
  // "1", "true", "0" or "false"; false if absent.
  bool Flag(std::string_view name);
  template <class Enum>
  std::optional<Enum> Choice(std::string_view name) {
    std::string text = Text(name);
    if (text.empty()) return std::nullopt;
    auto value = model::Parse<Enum>(text);
    if (!value) {
      Fail(name, "'" + text + "' is not one of " + model::AllNames<Enum>());
    }
    return value;
  }

  void Fail(std::string_view name, const std::string& what);
  const absl::Status& status() const { return status_; }

 private:
  const http::Request& request_;
  absl::Status status_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_ARGUMENTS_H_
