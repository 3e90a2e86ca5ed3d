// graphdbg-onnx MODEL NAME FOLDER: takes a model apart, see split.h. A program
// of its own, so that whatever a file does to ONNX's library happens to no job.
#include <cstdio>
#include <exception>
#include <string>

#include "agent/adapters/onnxruntime/shapes.h"
#include "agent/adapters/onnxruntime/split.h"

int main(int argc, char** argv) {
  using graphdbg::onnxruntime::OneLine;
  if (argc != 4) {
    std::fprintf(stderr, "usage: graphdbg-onnx MODEL NAME FOLDER\n");
    return 2;
  }
  std::string error;
  try {
    const absl::Status status =
        graphdbg::onnxruntime::Split(argv[1], {argv[2], argv[3]});
    if (status.ok()) return 0;
    error = std::string(status.message());
  } catch (const std::exception& e) {
    error = e.what();
  }
  std::fprintf(stderr, "%s\n", OneLine(error).c_str());
  return 1;
}
