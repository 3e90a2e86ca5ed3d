#include "server/jobs/tensor_answer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/base/error.h"

namespace graphdbg::jobs {
namespace {

constexpr uint64_t kMaxBytes = 100;

TensorChunk Header(std::vector<int64_t> shape, uint64_t total_bytes,
                   DType dtype = DType::kInt8) {
  TensorChunk chunk;
  chunk.header.emplace();
  chunk.header->type.dtype = dtype;
  chunk.header->slice_shape = std::move(shape);
  chunk.header->total_bytes = total_bytes;
  return chunk;
}

TensorChunk Data(const std::string& data) {
  TensorChunk chunk;
  chunk.data = data;
  return chunk;
}

// Feeds the chunks to an answer and returns its result.
absl::StatusOr<model::TensorValue> Assemble(
    const std::vector<TensorChunk>& chunks,
    const model::TensorQuery& query = {}) {
  TensorAnswer answer(query, kMaxBytes);
  for (const TensorChunk& chunk : chunks) {
    if (auto status = answer.Check(chunk); !status.ok()) return status;
    if (auto status = answer.Append(chunk); !status.ok()) return status;
  }
  return answer.Finish();
}

TEST(TensorAnswerTest, AssemblesOneOrManyChunks) {
  TensorChunk whole = Header({2}, 2);
  whole.data = "ab";
  EXPECT_EQ(Assemble({whole})->data, "ab");
  EXPECT_EQ(Assemble({Header({4}, 4), Data("ab"), Data("cd"), Data("")})->data,
            "abcd");
}

TEST(TensorAnswerTest, AcceptsAnEmptyTensor) {
  const auto value = Assemble({Header({0, 5}, 0, DType::kFloat32)});
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE(value->data.empty());
}

TEST(TensorAnswerTest, RejectsViolationsOfTheProtocol) {
  const auto reason = [](const std::vector<TensorChunk>& chunks) {
    return ReasonOf(Assemble(chunks).status());
  };
  EXPECT_EQ(reason({Data("a")}), "bad_answer") << "no header";
  EXPECT_EQ(reason({Header({2}, 2), Header({2}, 2)}), "bad_answer")
      << "two headers";
  EXPECT_EQ(reason({Header({2}, 2), Data("abc")}), "bad_answer") << "too long";
  EXPECT_EQ(reason({Header({2}, 2), Data("a")}), "bad_answer") << "too short";
  for (const auto& shape : std::vector<std::vector<int64_t>>{
           {3}, {-2}, {int64_t{1} << 62, 16, 2}, {int64_t{1} << 40}}) {
    EXPECT_EQ(reason({Header(shape, 2)}), "bad_answer")
        << "shape and size disagree";
  }
}

TEST(TensorAnswerTest, RejectsBytesThatWereNotRequested) {
  model::TensorQuery query;
  query.want_data = false;
  EXPECT_EQ(ReasonOf(Assemble({Header({2}, 2)}, query).status()), "bad_answer");
  EXPECT_TRUE(Assemble({Header({2}, 0)}, query).ok());
}

TEST(TensorAnswerTest, RejectsMoreThanItsLimit) {
  EXPECT_EQ(ReasonOf(Assemble({Header({101}, 101)}).status()),
            "slice_too_large");
}

TEST(TensorAnswerTest, CountsWhatItHoldsUntilTheTensorIsGone) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const auto memory = std::make_shared<MemoryBudget>(400 * kMiB);
  const std::string mib(kMiB, 'x');
  absl::StatusOr<model::TensorValue> value;
  {
    TensorAnswer answer({}, 200 * kMiB, memory);
    ASSERT_TRUE(answer.Check(Header({100 << 20}, 100 * kMiB)).ok());
    // An announced size does not count before the data arrives.
    EXPECT_EQ(memory->used(), 0u);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(answer.Append(Data(mib)).ok());
      EXPECT_GE(memory->used(MemoryAccount::kTensors), (i + 1) * kMiB);
    }
    value = answer.Finish();
  }
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->data.size(), 100 * kMiB);
  EXPECT_EQ(memory->used(), 100 * kMiB);
  value = absl::CancelledError();
  EXPECT_EQ(memory->used(), 0u);
}

TEST(TensorAnswerTest, EndsWhenTheServerHasNoMemory) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const auto memory = std::make_shared<MemoryBudget>(20 * kMiB);
  TensorAnswer answer({}, 200 * kMiB, memory);
  ASSERT_TRUE(answer.Check(Header({100 << 20}, 100 * kMiB)).ok());
  const std::string mib(kMiB, 'x');
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    status = answer.Append(Data(mib));
    EXPECT_LE(memory->used(), 20 * kMiB);
  }
  EXPECT_EQ(ReasonOf(status), "out_of_memory_budget");
}

}  // namespace
}  // namespace graphdbg::jobs
