// Numbers as sentences show them.
#ifndef SERVER_DIAGNOSIS_NUMBERS_H_
#define SERVER_DIAGNOSIS_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/model/tensor.h"

namespace graphdbg::diagnosis {

// "12,032", "0.25", "-50.5", "3.4e38".
std::string Number(double value);
std::string Count(uint64_t count);
// "1 cell", "62 cells".
std::string Counted(uint64_t count, absl::string_view noun);
// "1 of 512 values".
std::string Of(uint64_t part, uint64_t whole);

// The largest finite number of a floating-point type. Absent for other types.
std::optional<double> Limit(DType dtype);

}  // namespace graphdbg::diagnosis

#endif  // SERVER_DIAGNOSIS_NUMBERS_H_
