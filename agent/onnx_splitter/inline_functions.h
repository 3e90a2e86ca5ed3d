// Calls of a model's own functions, replaced by what the functions do.
#ifndef AGENT_ONNX_SPLITTER_INLINE_FUNCTIONS_H_
#define AGENT_ONNX_SPLITTER_INLINE_FUNCTIONS_H_

#include <onnx/onnx_pb.h>

#include "absl/status/status.h"

namespace graphdbg::onnx_splitter {

// As ONNX Runtime does before it runs a model. The nodes of a call are named
// "CALL/NODE": the call is a scope of theirs. Calls stay that are in graphs
// inside nodes, or of functions that want another version of an op set than the
// model has. RESOURCE_EXHAUSTED if functions call each other without end.
absl::Status InlineFunctions(onnx::ModelProto* model);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_INLINE_FUNCTIONS_H_
