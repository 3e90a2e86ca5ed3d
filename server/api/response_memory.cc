#include "server/api/response_memory.h"

#include <memory>
#include <utility>

#include "proto/wire/status_macros.h"

namespace graphdbg::api {
namespace {

// Smaller bodies are limited by the number of connections.
constexpr size_t kCountedBytes = 64 << 10;

}  // namespace

absl::Status ReserveBody(const Services& services, http::Response& response) {
  const bool counted = response.memory != nullptr;
  if (services.memory == nullptr || counted ||
      response.body.size() < kCountedBytes) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(MemoryBudget::Reservation reserved,
                   services.memory->Reserve(MemoryAccount::kResponses,
                                            response.body.capacity()));
  response.memory =
      std::make_shared<MemoryBudget::Reservation>(std::move(reserved));
  return absl::OkStatus();
}

}  // namespace graphdbg::api
