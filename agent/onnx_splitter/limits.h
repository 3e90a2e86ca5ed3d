// Resource limits of a process that reads untrusted files.
#ifndef AGENT_ONNX_SPLITTER_LIMITS_H_
#define AGENT_ONNX_SPLITTER_LIMITS_H_

namespace graphdbg::onnx_splitter {

// Limits this process's memory and CPU time, prevents it from opening files,
// and kills it when its parent exits. Returns false on failure.
bool ConfineProcess();

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_LIMITS_H_
