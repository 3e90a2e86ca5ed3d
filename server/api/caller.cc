#include "server/api/caller.h"

#include <any>
#include <memory>
#include <utility>

namespace graphdbg::api {
namespace {

struct Caller {
  auth::Principal principal;
  std::string note;
};

// Null on routes that need no token. Copies of a request share the object.
Caller* Find(const http::Request& request) {
  const auto* caller = std::any_cast<std::shared_ptr<Caller>>(&request.caller);
  return caller == nullptr ? nullptr : caller->get();
}

}  // namespace

void SetCaller(http::Request& request, auth::Principal caller) {
  request.caller = std::make_shared<Caller>(Caller{std::move(caller), {}});
}

const auth::Principal& CallerOf(const http::Request& request) {
  static const auto* const kNobody = new auth::Principal();
  const Caller* caller = Find(request);
  return caller == nullptr ? *kNobody : caller->principal;
}

absl::Status CheckMayPerform(const http::Request& request,
                             const std::vector<model::Action>& actions) {
  if (!model::Terminates(actions)) return absl::OkStatus();
  return auth::RequireRole(CallerOf(request), auth::Role::kAdmin);
}

void Note(const http::Request& request, std::string detail) {
  if (Caller* caller = Find(request)) caller->note = std::move(detail);
}

std::string NoteOf(const http::Request& request) {
  const Caller* caller = Find(request);
  return caller == nullptr ? "" : caller->note;
}

}  // namespace graphdbg::api
