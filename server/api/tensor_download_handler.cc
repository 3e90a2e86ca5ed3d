// Downloads a whole tensor as a file.
//
// The tensor is requested slice by slice, each one while the previous slice is
// being sent to the client. The server never holds more than two slices, a slow
// client does not block the job's stream, and the job sends no data that is not
// needed.
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/api/download_slot.h"
#include "server/api/handlers.h"
#include "server/api/tensor_arguments.h"
#include "server/api/tensor_pieces.h"
#include "server/base/error.h"
#include "server/tensor/piece_plan.h"
#include "server/tensor/shape.h"
#include "server/tensor/tensor_file.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;
using model::TensorValue;
using tensor::FileFormat;

constexpr size_t kMaxFileNameBytes = 150;

class Download {
 public:
  // `first` is the tensor without its elements, `head` the file's header.
  Download(std::unique_ptr<DownloadSlot> slot, JobPtr job, TensorQuery query,
           TensorValue first, std::string head, uint64_t item_bytes)
      : slot_(std::move(slot)),
        job_(std::move(job)),
        query_(std::move(query)),
        first_(std::move(first)),
        head_(std::move(head)),
        item_bytes_(item_bytes),
        plan_(first_.type.shape, WholeSlice(first_.type.shape), item_bytes,
              TensorPieces::kPieceBytes) {}

  boost::asio::awaitable<absl::StatusOr<std::string>> Next() {
    if (!head_.empty()) co_return std::exchange(head_, {});
    const auto piece = plan_.Next();
    if (!piece) co_return std::string();
    TensorQuery query = query_;
    query.slice = piece->slice;
    query.max_bytes = piece->elements * item_bytes_;
    CO_ASSIGN_OR_RETURN(TensorValue value,
                        co_await job_->Tensor(std::move(query)));
    if (!IsSameValue(value, first_) ||
        value.data.size() != piece->elements * item_bytes_) {
      co_return Error(absl::StatusCode::kAborted, "value_gone",
                      "the job continued while the tensor was being read");
    }
    co_return std::move(value.data);
  }

 private:
  const std::unique_ptr<DownloadSlot> slot_;
  const JobPtr job_;
  const TensorQuery query_;
  const TensorValue first_;
  std::string head_;
  const uint64_t item_bytes_;
  tensor::PiecePlan plan_;
};

FileFormat ReadFormat(Arguments& arguments) {
  const std::string format = arguments.Text("format");
  if (format == "safetensors") return FileFormat::kSafetensors;
  if (!format.empty() && format != "npy") {
    arguments.Fail("format", "'" + format + "' is neither npy nor safetensors");
  }
  return FileFormat::kNpy;
}

std::string FileName(const TensorValue& value, FileFormat format) {
  std::string name = value.node;
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '-' && c != '.') c = '_';
  }
  if (name.size() > kMaxFileNameBytes) {
    name.erase(0, name.size() - kMaxFileNameBytes);
  }
  return absl::StrCat(name, ".", value.slot, ".step", value.step,
                      format == FileFormat::kNpy ? ".npy" : ".safetensors");
}

tensor::FileTensor FileTensorOf(const TensorValue& value, uint64_t bytes) {
  tensor::FileTensor file{
      absl::StrCat(value.node, ":", value.slot), value.type, bytes, {}};
  file.metadata = {{"node", value.node},
                   {"slot", absl::StrCat(value.slot)},
                   {"rank", absl::StrCat(value.rank)},
                   {"step", absl::StrCat(value.step)},
                   {"overwritten", value.overwritten ? "true" : "false"}};
  if (value.grad_scale != 0) {
    file.metadata["grad_scale"] = absl::StrCat(value.grad_scale);
  }
  return file;
}

}  // namespace

Answer DownloadTensor(const Services& services, const http::Request& request,
                      const JobPtr& job) {
  Arguments arguments(request);
  TensorQuery query = ReadTensorQuery(arguments);
  const FileFormat format = ReadFormat(arguments);
  CO_RETURN_IF_ERROR(arguments.status());

  CO_ASSIGN_OR_RETURN(std::unique_ptr<DownloadSlot> slot,
                      DownloadSlot::Take(services, TensorPieces::kPieceBytes));
  TensorQuery about = query;
  about.want_data = false;
  CO_ASSIGN_OR_RETURN(TensorValue first,
                      co_await job->Tensor(std::move(about)));
  const uint64_t item_bytes = ItemSize(first.type.dtype);
  const auto dense_bytes =
      tensor::DenseBytes(first.type.dtype, first.type.shape);
  if (item_bytes != 0 && !dense_bytes) {
    co_return Error(absl::StatusCode::kInternal, "bad_tensor",
                    "the job reported an invalid shape for this tensor");
  }
  const uint64_t bytes = dense_bytes.value_or(0);
  CO_ASSIGN_OR_RETURN(auto head,
                      tensor::FileHeader(format, FileTensorOf(first, bytes)));

  http::Response response;
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set(
      "Content-Disposition",
      "attachment; filename=\"" + FileName(first, format) + "\"");
  response.headers.Set("X-Graphdbg-Step", absl::StrCat(first.step));
  response.headers.Set("X-Graphdbg-Overwritten",
                       first.overwritten ? "true" : "false");
  response.pieces_bytes = head.size() + bytes;
  auto download =
      std::make_shared<Download>(std::move(slot), job, std::move(query),
                                 std::move(first), std::move(head), item_bytes);
  response.next_piece = [download] { return download->Next(); };
  co_return response;
}

}  // namespace graphdbg::api
