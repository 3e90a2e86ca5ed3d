// Tensors and graphs arrive in pieces. Whatever the pieces are, the server must
// assemble exactly what was sent, or refuse it, and never hold more than its
// limits.
//
// An input consists of one byte, which selects what is assembled, and a script.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/tensor/slice.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/base/memory_budget.h"
#include "server/jobs/tensor_answer.h"
#include "server/mindspore/graph_assembly.h"
#include "tests/fuzz/script.h"

namespace graphdbg {
namespace {

using fuzz::Script;

constexpr uint64_t kMaxBytes = 1 << 16;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Header and data of an agent's answer.
void AssembleAnswer(Script& script) {
  const auto memory = std::make_shared<MemoryBudget>(2 * kMaxBytes);
  model::TensorQuery query;
  query.want_data = script.Byte() % 4 != 0;
  std::string sent;
  {
    jobs::TensorAnswer answer(query, kMaxBytes, memory);
    while (!script.done()) {
      jobs::TensorChunk chunk;
      if (script.Byte() % 4 == 0) {
        jobs::TensorHeader& header = chunk.header.emplace();
        header.type.dtype = static_cast<DType>(script.Byte() % 19);
        const size_t dimensions = script.Byte() % 8;
        for (size_t i = 0; i < dimensions; ++i) {
          header.slice_shape.push_back(static_cast<int64_t>(script.Number()));
        }
        header.total_bytes = script.Number();
      }
      const std::string data = script.Text();
      chunk.data = data;
      if (!answer.Check(chunk).ok() || !answer.Append(chunk).ok()) break;
      sent += data;
      Require(sent.size() <= kMaxBytes);
      Require(memory->used() >= sent.size());
      Require(memory->used() <= memory->limit());
    }
    const auto value = answer.Finish();
    if (value.ok()) Require(value->data == sent);
  }
  Require(memory->used() == 0);
}

// Chunks of MindSpore's graphs.
void AssembleGraphs(Script& script) {
  mindspore::GraphAssembly assembly;
  while (!script.done()) {
    debugger::Chunk chunk;
    chunk.set_finished(script.Byte() % 2 == 0);
    chunk.set_buffer(script.Text());
    if (!assembly.Add(chunk).ok()) return;
  }
  if (!assembly.Take().ok()) return;
  // Nothing is left of the graphs.
  const auto again = assembly.Take();
  Require(!again.ok() || again->empty());
}

// The agent reads a slice of a tensor in pieces.
void ReadPieces(Script& script) {
  std::vector<int64_t> shape;
  size_t elements = 1;
  const size_t dimensions = script.Byte() % 5;
  for (size_t i = 0; i < dimensions; ++i) {
    shape.push_back(script.Byte() % 7);
    elements *= static_cast<size_t>(shape.back());
  }
  std::string memory;
  for (size_t i = 0; i < elements; ++i) memory += static_cast<char>(i);
  TensorView view;
  view.dtype = DType::kInt8;
  view.data = memory.data();
  view.ndim = shape.size();
  view.shape = shape.data();
  const auto slice = ParseSlice(script.Text(), shape);
  if (!slice.ok()) return;
  std::string whole;
  SliceReader all(view, *slice);
  if (!all.done()) all.Read(all.total_bytes(), &whole);
  Require(static_cast<int64_t>(whole.size()) == ElementCount(*slice));
  std::string parts;
  SliceReader reader(view, *slice);
  while (!reader.done()) {
    const int64_t most = script.Byte() % 9 + 1;
    const size_t before = parts.size();
    reader.Read(most, &parts);
    Require(parts.size() > before);
    Require(parts.size() <= before + static_cast<size_t>(most));
  }
  Require(parts == whole);
}

}  // namespace
}  // namespace graphdbg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphdbg::fuzz::Script script(data, size);
  switch (script.Byte() % 3) {
    case 0:
      graphdbg::AssembleAnswer(script);
      break;
    case 1:
      graphdbg::AssembleGraphs(script);
      break;
    default:
      graphdbg::ReadPieces(script);
  }
  return 0;
}
