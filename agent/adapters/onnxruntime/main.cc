// graphdbg-onnx MODEL NAME FOLDER: takes a model apart, see split.h.
// graphdbg-onnx --graph NAME: reads a model from standard input and writes its
// graph to standard output, see graph_messages.h; opens no file.
//
// A program of its own, so that whatever a file does to ONNX's library happens
// to no job and to no server.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "agent/adapters/onnxruntime/graph_messages.h"
#include "agent/adapters/onnxruntime/limits.h"
#include "agent/adapters/onnxruntime/model_file.h"
#include "agent/adapters/onnxruntime/shapes.h"
#include "agent/adapters/onnxruntime/split.h"

namespace {

absl::Status WriteGraphOf(std::istream* input, const std::string& name) {
  if (!graphdbg::onnxruntime::ConfineProcess()) {
    return absl::InternalError("this process cannot be confined");
  }
  std::ios::sync_with_stdio(false);
  absl::StatusOr<onnx::ModelProto> model =
      graphdbg::onnxruntime::ReadModel(input, name);
  if (!model.ok()) return model.status();
  return graphdbg::onnxruntime::WriteGraph(*std::move(model), name, &std::cout);
}

absl::Status Run(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--graph") {
    return WriteGraphOf(&std::cin, argv[2]);
  }
  return graphdbg::onnxruntime::Split(argv[1], {argv[2], argv[3]});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && !(argc == 3 && std::string(argv[1]) == "--graph")) {
    std::fprintf(stderr,
                 "usage: graphdbg-onnx MODEL NAME FOLDER\n"
                 "       graphdbg-onnx --graph NAME < MODEL > MESSAGES\n");
    return 2;
  }
  std::string error;
  try {
    const absl::Status status = Run(argc, argv);
    if (status.ok()) return 0;
    error = std::string(status.message());
  } catch (const std::bad_alloc&) {
    error = "the model takes more memory than there is for one";
  } catch (const std::exception& e) {
    error = e.what();
  }
  std::fprintf(stderr, "%s\n", graphdbg::onnxruntime::OneLine(error).c_str());
  return 1;
}
