// What a process that reads a file of somebody else's may take.
#ifndef AGENT_ONNX_SPLITTER_LIMITS_H_
#define AGENT_ONNX_SPLITTER_LIMITS_H_

namespace graphdbg::onnx_splitter {

// Bounds this process's memory and time, lets it open no more files, and ends
// it with its parent. False if that cannot be had.
bool ConfineProcess();

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_LIMITS_H_
