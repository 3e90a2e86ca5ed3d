// graphdbg-onnx MODEL NAME FOLDER: splits a model, see split.h.
// graphdbg-onnx --graph NAME: reads a model from standard input and writes its
// graph to standard output, see graph_messages.h; opens no files.
//
// A separate program, so that a file that crashes or exhausts ONNX's library
// takes down neither a job nor the server.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "agent/onnx_splitter/graph_messages.h"
#include "agent/onnx_splitter/limits.h"
#include "agent/onnx_splitter/model_file.h"
#include "agent/onnx_splitter/shapes.h"
#include "agent/onnx_splitter/split.h"
#include "proto/wire/status_macros.h"

namespace {

absl::Status WriteGraphOf(std::istream* input, const std::string& name) {
  if (!graphdbg::onnx_splitter::ConfineProcess()) {
    return absl::InternalError("cannot apply resource limits to this process");
  }
  std::ios::sync_with_stdio(false);
  ASSIGN_OR_RETURN(onnx::ModelProto model,
                   graphdbg::onnx_splitter::ReadModel(input, name));
  return graphdbg::onnx_splitter::WriteGraph(std::move(model), name,
                                             &std::cout);
}

absl::Status Run(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--graph") {
    return WriteGraphOf(&std::cin, argv[2]);
  }
  return graphdbg::onnx_splitter::Split(argv[1], {argv[2], argv[3]});
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
    error = "out of memory while reading the model";
  } catch (const std::exception& e) {
    error = e.what();
  }
  std::fprintf(stderr, "%s\n", graphdbg::onnx_splitter::OneLine(error).c_str());
  return 1;
}
