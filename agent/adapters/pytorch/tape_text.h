// Values as the JSON of a bundle's tape has them: agent/docs/bundles.md.
#ifndef AGENT_ADAPTERS_PYTORCH_TAPE_TEXT_H_
#define AGENT_ADAPTERS_PYTORCH_TAPE_TEXT_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace graphdbg::pytorch {

// A JSON string.
std::string Quoted(std::string_view text);
// A JSON array.
std::string Numbers(const int64_t* first, size_t count);
// The name without "torch.".
std::string ShortDtype(c10::ScalarType type);
// An argument that is not a tensor; absent if bundles cannot have it. `type` is
// that of the schema.
std::optional<std::string> ValueText(const c10::IValue& value,
                                     const c10::TypePtr& type);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_TAPE_TEXT_H_
