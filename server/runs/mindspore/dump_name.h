// Names of the files in MindSpore's dumps.
#ifndef SERVER_RUNS_MINDSPORE_DUMP_NAME_H_
#define SERVER_RUNS_MINDSPORE_DUMP_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/model/tensor.h"

namespace graphdbg::dumps {

// The properties of a file that its name contains.
struct DumpName {
  enum class Kind {
    // One tensor as an npy file.
    kNpy,
    // One tensor's elements and nothing else; type and shape are in the name.
    // Releases 1.0 and 1.1.
    kRaw,
    // All inputs and outputs of an op, see dump_message.h.
    kMessage,
    // Findings of the device's overflow detection, as JSON.
    kOverflow,
  };

  Kind kind = Kind::kNpy;
  // Empty if the name has none.
  std::string op_type;
  // With or without scopes, which are separated by "_" or "--".
  std::string op_name;
  // Not for kMessage.
  bool is_output = true;
  uint32_t slot = 0;
  // Identify an op on Ascend; 0 elsewhere.
  uint64_t task = 0;
  uint64_t stream = 0;
  // Unix time in microseconds; 0 if the name has none.
  uint64_t time_us = 0;
  // The element type that was converted when the file was written, such as
  // "bfloat16". Usually empty.
  std::string original_dtype;
  // For kRaw.
  model::TensorType type;
};

// Absent for names of other files. Releases differ in which parts a name has:
//   Conv2D.Conv2D-op12.0.0.1623124369613540.output.0.DefaultFormat.npy
//   Default--Conv2D-op12_output_0_shape_32_6_28_28_Float32_DefaultFormat.bin
//   Conv2D.Default_network_conv1_Conv2D-op12.5.7.1623124369613540
std::optional<DumpName> ParseDumpName(std::string_view name);

// Names are compared in this form, because each release replaces other
// characters: "Default/conv1/Conv2D-op12" becomes "Default_conv1_Conv2D-op12".
std::string NormalName(std::string_view name);

// A number without sign and other characters. Absent if it does not fit.
std::optional<uint64_t> ParseNumber(std::string_view text);

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_DUMP_NAME_H_
