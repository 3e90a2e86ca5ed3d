// Compares two recorded runs, or two ranks of one.
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/encode_run.h"
#include "server/api/handlers.h"
#include "server/api/run_reference.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

std::vector<model::Renaming> ReadRenamings(Arguments& arguments) {
  std::vector<model::Renaming> renamings;
  const std::string map = arguments.Text("map");
  const std::vector<std::string> parts =
      absl::StrSplit(map, ',', absl::SkipEmpty());
  for (const std::string& each : parts) {
    const size_t equals = each.find('=');
    if (equals == 0 || equals == std::string::npos ||
        equals + 1 == each.size()) {
      arguments.Fail("map", "'" + each + "' is not OLD=NEW");
      continue;
    }
    renamings.push_back({each.substr(0, equals), each.substr(equals + 1)});
  }
  return renamings;
}

}  // namespace

Answer GetDivergence(const Services& services, const http::Request& request,
                     const RunPtr& run) {
  Arguments arguments(request);
  model::DivergenceQuery query;
  std::string with = arguments.RequiredText("with");
  query.rank = arguments.Integer32("rank").value_or(0);
  query.renamings = ReadRenamings(arguments);
  query.rtol = arguments.Real("rtol", 0);
  query.atol = arguments.Real("atol", 0).value_or(query.atol);
  query.method =
      arguments.Choice<model::DivergenceMethod>("by").value_or(query.method);
  const std::string calibrate = arguments.Text("calibrate");
  if (!calibrate.empty() && query.method == model::DivergenceMethod::kDigest) {
    arguments.Fail("calibrate", "digests are equal or not");
  }
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(
      const RunReference other,
      co_await FindRunReference(services, std::move(with), "with"));
  if (other.step) {
    arguments.Fail("with", "all steps are compared; name RUN or RUN:RANK");
    co_return arguments.status();
  }
  query.other_rank = other.rank.value_or(query.rank);
  if (other.run == run && query.other_rank == query.rank) {
    arguments.Fail("with", "it is the rank itself; name another run or rank");
    co_return arguments.status();
  }
  RunPtr calibration;
  if (!calibrate.empty()) {
    auto found = co_await services.runs->Find(calibrate);
    if (!found.ok()) co_return WithField(found.status(), "calibrate");
    calibration = *std::move(found);
  }
  CO_ASSIGN_OR_RETURN(
      const model::Divergence divergence,
      co_await run->Compare(other.run, calibration, std::move(query)));
  co_return JsonResponse(Encode(divergence));
}

}  // namespace graphdbg::api
