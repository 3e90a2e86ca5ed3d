// What a process that reads a file of somebody else's may take.
#ifndef AGENT_ADAPTERS_ONNXRUNTIME_LIMITS_H_
#define AGENT_ADAPTERS_ONNXRUNTIME_LIMITS_H_

namespace graphdbg::onnxruntime {

// Bounds this process's memory and time, lets it open no more files, and ends
// it with its parent. False if that cannot be had.
bool ConfineProcess();

}  // namespace graphdbg::onnxruntime

#endif  // AGENT_ADAPTERS_ONNXRUNTIME_LIMITS_H_
