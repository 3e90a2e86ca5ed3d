// The frontend of a server that is built without support for MindSpore, which
// is a fifth of the time that building the server takes: for tools/dev demo.

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <string>

#include "server/mindspore/mindspore_frontend.h"

namespace graphdbg::mindspore {

class MindSporeFrontend::Impl {
 public:
  grpc::Service* service() { return &service_; }

 private:
  // Has no methods: clients get UNIMPLEMENTED.
  class NoService final : public grpc::Service {};
  NoService service_;
};

MindSporeFrontend::MindSporeFrontend(std::shared_ptr<jobs::AgentAcceptor>,
                                     FrontendOptions)
    : impl_(std::make_unique<Impl>()) {}

MindSporeFrontend::~MindSporeFrontend() = default;

grpc::Service* MindSporeFrontend::service() { return impl_->service(); }

absl::StatusOr<uint16_t> MindSporeFrontend::Listen(const std::string&,
                                                   uint16_t) {
  return absl::UnimplementedError(
      "this server was built for the demo, without support for MindSpore jobs; "
      "run tools/dev build");
}

uint64_t MindSporeFrontend::stored_bytes() const { return 0; }

void MindSporeFrontend::StopSaving() {}

}  // namespace graphdbg::mindspore
