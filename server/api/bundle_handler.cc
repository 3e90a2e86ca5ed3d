// Downloads the bundle of a hit.
//
// The agent makes it as a file of its own, from which it is requested piece by
// piece, so that the server never holds more than two pieces.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/api/download_slot.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
constexpr size_t kMaxFileNameBytes = 150;

absl::StatusOr<uint64_t> HitId(const http::Request& request) {
  const std::string& text = request.path_params.at("hit");
  uint64_t id = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size()) return id;
  return Error(absl::StatusCode::kNotFound, "unknown_hit",
               absl::StrCat("\"", text, "\" is not the id of a hit"));
}

// Unique in this server and the ones before it.
std::string NewBundleId(int64_t time) {
  static std::atomic<uint64_t> last{0};
  return absl::StrCat(time, ".", ++last);
}

std::string FileName(const std::string& job, const model::Hit& hit) {
  std::string name = absl::StrCat(job, "-rank", hit.rank, "-step", hit.step,
                                  "-", hit.node, ".", hit.slot);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '-' && c != '.') c = '_';
  }
  return name.substr(0, kMaxFileNameBytes) + ".graphdbg";
}

class BundleDownload {
 public:
  BundleDownload(std::unique_ptr<DownloadSlot> slot, JobPtr job,
                 model::TensorQuery query, uint64_t bytes)
      : slot_(std::move(slot)),
        job_(std::move(job)),
        query_(std::move(query)),
        bytes_(bytes) {}

  boost::asio::awaitable<absl::StatusOr<std::string>> Next() {
    if (next_ == bytes_) co_return std::string();
    const uint64_t end = std::min(bytes_, next_ + kPieceBytes);
    model::TensorQuery query = query_;
    query.want_data = true;
    query.slice = absl::StrCat(next_, ":", end);
    query.max_bytes = kPieceBytes;
    CO_ASSIGN_OR_RETURN(model::TensorValue value,
                        co_await job_->Tensor(std::move(query)));
    if (value.data.size() != end - next_) {
      co_return Error(absl::StatusCode::kInternal, "bad_answer",
                      "the job sent another number of bytes than it was asked "
                      "for");
    }
    next_ = end;
    co_return std::move(value.data);
  }

 private:
  const std::unique_ptr<DownloadSlot> slot_;
  const JobPtr job_;
  const model::TensorQuery query_;
  const uint64_t bytes_;
  uint64_t next_ = 0;
};

}  // namespace

Answer DownloadBundle(const Services& services, const http::Request& request,
                      const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const uint64_t id, HitId(request));
  model::HitQuery wanted;
  wanted.id = id;
  CO_ASSIGN_OR_RETURN(model::HitPage found,
                      co_await job->Hits(std::move(wanted)));
  if (found.hits.empty()) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_hit",
                    absl::StrCat("the job has no hit ", id));
  }
  const model::Hit& hit = found.hits.front();
  CO_ASSIGN_OR_RETURN(std::unique_ptr<DownloadSlot> slot,
                      DownloadSlot::Take(services, kPieceBytes));
  model::TensorQuery query;
  query.node = hit.node;
  query.slot = hit.slot;
  query.rank = hit.rank;
  query.want_data = false;
  query.bundle = {NewBundleId(hit.time_unix_nano), hit.step,
                  Encode(hit).dump()};
  CO_ASSIGN_OR_RETURN(const model::TensorValue about,
                      co_await job->Tensor(query));
  if (about.type.shape.size() != 1 || about.type.shape[0] < 0) {
    co_return Error(absl::StatusCode::kInternal, "bad_answer",
                    "the job reported an invalid size of the bundle");
  }
  query.bundle->hit.clear();
  http::Response response;
  response.headers.Set("Content-Type", "application/zip");
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set(
      "Content-Disposition",
      "attachment; filename=\"" + FileName(job->id(), hit) + "\"");
  response.pieces_bytes = static_cast<uint64_t>(about.type.shape[0]);
  auto download = std::make_shared<BundleDownload>(
      std::move(slot), job, std::move(query), *response.pieces_bytes);
  response.next_piece = [download] { return download->Next(); };
  co_return response;
}

}  // namespace graphdbg::api
