// The accelerators of this machine and the support for them in this build.
#ifndef AGENT_RUNTIME_REPORT_H_
#define AGENT_RUNTIME_REPORT_H_

#include <string>

namespace graphdbg::runtime {

// Returns JSON:
//   {"kernels": ["sm_80", ..., "compute_90"],
//    "cuda": {"error": null | "libcuda.so.1: cannot open ...",
//             "driver": "13.0" | null,
//             "devices": [{"name", "memory_bytes", "architecture": "sm_90",
//                          "supported": true if a kernel runs on it}]},
//    "ascend": {"error", "version", "soc", "device_count"}}
// Opens the vendors' libraries, which takes time and memory.
std::string AcceleratorReport();

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_REPORT_H_
