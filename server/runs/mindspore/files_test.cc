// Names and headers of the files in dumps.
#include <gtest/gtest.h>

#include <string>

#include "server/runs/mindspore/csv.h"
#include "server/runs/mindspore/dump_message.h"
#include "server/runs/mindspore/dump_name.h"
#include "server/runs/mindspore/npy.h"
#include "server/runs/mindspore/overflow.h"
#include "server/runs/mindspore/statistic_csv.h"

namespace graphdbg::dumps {
namespace {

using Kind = DumpName::Kind;

TEST(DumpNameTest, SynchronousNames) {
  const auto name = ParseDumpName(
      "Conv2D.Conv2D-op12.3.7.1623124369613540.output.1.DefaultFormat.npy");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, Kind::kNpy);
  EXPECT_EQ(name->op_type, "Conv2D");
  EXPECT_EQ(name->op_name, "Conv2D-op12");
  EXPECT_EQ(name->task, 3u);
  EXPECT_EQ(name->stream, 7u);
  EXPECT_EQ(name->time_us, 1623124369613540u);
  EXPECT_TRUE(name->is_output);
  EXPECT_EQ(name->slot, 1u);
}

TEST(DumpNameTest, NamesOfOtherReleases) {
  // 1.2: without a format. Names may have dots.
  auto name = ParseDumpName("Parameter.conv1.weight.0.0.16.output.0.npy");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->op_name, "conv1.weight");
  // 2.4 and later: with the type that the values had.
  name = ParseDumpName("Add.Add-op1.0.0.16.input.2.NCHW.bfloat16.npy");
  ASSERT_TRUE(name);
  EXPECT_FALSE(name->is_output);
  EXPECT_EQ(name->original_dtype, "bfloat16");
  // Asynchronous; 1.1 has no stream.
  name = ParseDumpName("Add.Default_net_Add-op1.5.7.16");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, Kind::kMessage);
  EXPECT_EQ(name->op_name, "Default_net_Add-op1");
  name = ParseDumpName("Add.Default_net_Add-op1.5.16.bin");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->task, 5u);
  EXPECT_EQ(name->stream, 0u);
}

TEST(DumpNameTest, FlatNamesHaveTypeAndShape) {
  auto name = ParseDumpName(
      "Default--net--Add-op1_input_0_shape_1_3_4_Float16_DefaultFormat.bin");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, Kind::kRaw);
  EXPECT_EQ(name->op_name, "Default--net--Add-op1");
  EXPECT_FALSE(name->is_output);
  EXPECT_EQ(name->type.dtype, DType::kFloat16);
  EXPECT_EQ(name->type.shape, (std::vector<int64_t>{1, 3, 4}));
  name = ParseDumpName("Add-op1_output_0_shape_Float32_DefaultFormat.bin");
  ASSERT_TRUE(name);
  EXPECT_TRUE(name->type.shape.empty());
}

TEST(DumpNameTest, OtherFilesHaveNone) {
  for (const char* name :
       {"", ".", "statistic.csv", "mapping.csv", "a.npy", "Add.Add-op1.npy",
        "Add.Add-op1.0.0.16.output.-1.npy",
        "Add.Add-op1.0.0.16.output.99999.npy", "1.2.3",
        "x_shape_1_Float32_F.bin"}) {
    EXPECT_FALSE(ParseDumpName(name)) << name;
  }
}

TEST(DumpNameTest, NormalNamesAreTheSameInAllReleases) {
  EXPECT_EQ(NormalName("Default/net/conv1.weight"),
            NormalName("Default--net--conv1_weight"));
}

std::string Npy(const std::string& dictionary, size_t data_bytes) {
  std::string header = dictionary + "\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + std::string(data_bytes, 'x');
}

TEST(NpyTest, ReadsTypeShapeAndPlace) {
  const std::string file =
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
  const auto tensor = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->type.dtype, DType::kFloat32);
  EXPECT_EQ(tensor->type.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor->bytes, 24u);
  EXPECT_EQ(tensor->offset, file.size() - 24);
}

TEST(NpyTest, ScalarsAndUnknownTypes) {
  std::string file =
      Npy("{'descr': '|b1', 'fortran_order': True, 'shape': ()}", 1);
  auto tensor = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->type.dtype, DType::kBool);
  EXPECT_TRUE(tensor->type.shape.empty());
  file = Npy("{'descr': '<U7', 'fortran_order': False, 'shape': (1,)}", 28);
  tensor = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->type.dtype, DType::kOther);
  EXPECT_EQ(tensor->type.framework_dtype, "<U7");
}

TEST(NpyTest, RefusesWhatIsWrong) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const auto status = [](const std::string& file) {
    return ParseNpyHeader(file, file.size()).status();
  };
  EXPECT_TRUE(absl::IsDataLoss(status("")));
  EXPECT_TRUE(absl::IsDataLoss(status("PK\x03\x04")));
  EXPECT_TRUE(absl::IsDataLoss(status(Npy(good, 23))));
  EXPECT_TRUE(absl::IsDataLoss(status(Npy(good, 0).substr(0, 30))));
  EXPECT_TRUE(absl::IsDataLoss(status(Npy("{'descr': '<f4'}", 24))));
  EXPECT_TRUE(absl::IsUnimplemented(status(
      Npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8))));
  EXPECT_TRUE(absl::IsUnimplemented(status(
      Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 24))));
  EXPECT_TRUE(absl::IsDataLoss(
      status(Npy("{'descr': '<f8', 'fortran_order': False, 'shape': "
                 "(9223372036854775807, 9223372036854775807)}",
                 8))));
}

// A field of a message, by its number, type of wire, and content.
std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2),
                     static_cast<char>(bytes.size())} +
         bytes;
}
std::string Field(int number, char value) {
  return {static_cast<char>(number << 3), value};
}

TEST(DumpMessageTest, ValuesFollowTheMessageInOrder) {
  const std::string shape = Field(1, std::string("\x02\x01", 2));
  const std::string message =
      Field(3, Field(1, 1) + Field(3, shape) + Field(6, 8)) +
      Field(4, Field(1, 7) + Field(3, shape) + Field(5, 8)) +
      Field(6, "Default/Add-op1");
  const uint64_t size = message.size();
  const auto parsed = ParseDumpMessage(message, 8, 8 + size, 8 + size + 16);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->op_name, "Default/Add-op1");
  ASSERT_EQ(parsed->tensors.size(), 2u);
  // Inputs come first.
  EXPECT_FALSE(parsed->tensors[0].is_output);
  EXPECT_EQ(parsed->tensors[0].tensor.type.dtype, DType::kInt32);
  EXPECT_EQ(parsed->tensors[0].tensor.offset, 8 + size);
  EXPECT_TRUE(parsed->tensors[1].is_output);
  EXPECT_EQ(parsed->tensors[1].tensor.type.dtype, DType::kFloat32);
  EXPECT_EQ(parsed->tensors[1].tensor.type.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(parsed->tensors[1].tensor.offset, 8 + size + 8);
}

TEST(DumpMessageTest, ValuesWithinTheMessage) {
  const std::string shape = Field(1, std::string("\x02", 1));
  const std::string message =
      Field(3, Field(1, 1) + Field(3, shape) + Field(5, "abcdefgh"));
  const auto parsed =
      ParseDumpMessage(message, 0, message.size(), message.size());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->tensors.size(), 1u);
  EXPECT_EQ(message.substr(parsed->tensors[0].tensor.offset, 8), "abcdefgh");
}

TEST(DumpMessageTest, RefusesWhatIsWrong) {
  const std::string shape = Field(1, std::string("\x02", 1));
  // Two float32 need 8 bytes.
  const std::string small =
      Field(3, Field(1, 1) + Field(3, shape) + Field(6, 4));
  EXPECT_TRUE(absl::IsDataLoss(
      ParseDumpMessage(small, 0, small.size(), small.size() + 4).status()));
  const std::string beyond =
      Field(3, Field(1, 1) + Field(3, shape) + Field(6, 8));
  EXPECT_TRUE(absl::IsDataLoss(
      ParseDumpMessage(beyond, 0, beyond.size(), beyond.size() + 7).status()));
  EXPECT_TRUE(absl::IsDataLoss(ParseDumpMessage("\x1a\x7f", 0, 2, 2).status()));
}

TEST(CsvTest, CellsMayContainCommasInQuotes) {
  std::string_view text = "a,\"(1,2)\",c\r\n\nlast";
  EXPECT_EQ(TakeCsvRow(text), (CsvRow{"a", "(1,2)", "c"}));
  EXPECT_EQ(TakeCsvRow(text), (CsvRow{""}));
  EXPECT_EQ(TakeCsvRow(text), (CsvRow{"last"}));
  EXPECT_TRUE(text.empty());
}

TEST(StatisticCsvTest, ColumnsAreFoundByName) {
  uint64_t bad_rows = 0;
  const auto rows = ParseStatisticCsv(
      "Op Type,Op Name,IO,Slot,Data Type,Shape,Max Value,Min Value,Avg Value,"
      "Count,NaN Count,Negative Zero Count,Extra\n"
      "Add,Add-op1,output,0,float32,\"(2,3)\",4,-5,0.5,6,0,2,x\n"
      "Add,Add-op2,output,0,float32,\"(2)\",null,null,null,2,2,0,x\n"
      "Add,Add-op3,out",
      bad_rows);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(bad_rows, 1u);
  EXPECT_EQ((*rows)[0].type.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ((*rows)[0].statistics.abs_max, 5);
  EXPECT_EQ((*rows)[0].statistics.negative_count, 2u);
  EXPECT_EQ((*rows)[1].statistics.nan_count, 2u);
  EXPECT_FALSE((*rows)[1].statistics.max);
  EXPECT_FALSE(ParseStatisticCsv("a,b\n", bad_rows).ok());
}

TEST(OverflowTest, UnitsThatReportAnOverflow) {
  const auto tasks = ParseOverflow(
      R"({"AI Core": {"status": 32, "task_id": 5, "stream_id": 7},
          "L2 Atomic Add": {"status": 0, "task_id": 1, "stream_id": 1}})");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].task, 5u);
  EXPECT_EQ(tasks[0].stream, 7u);
  EXPECT_TRUE(ParseOverflow("[").empty());
}

}  // namespace
}  // namespace graphdbg::dumps
