// Inlines the functions that a model defines.
#ifndef AGENT_ONNX_SPLITTER_INLINE_FUNCTIONS_H_
#define AGENT_ONNX_SPLITTER_INLINE_FUNCTIONS_H_

#include <onnx/onnx_pb.h>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

// Replaces calls by the nodes of the called functions, as ONNX Runtime does
// before it runs a model. The nodes are named "CALL/NODE": the call becomes
// their scope. Calls of functions that need another version of an op set than
// the model's are kept. Returns RESOURCE_EXHAUSTED if functions call each other
// too deeply.
absl::Status InlineFunctions(onnx::ModelProto* model);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_INLINE_FUNCTIONS_H_
