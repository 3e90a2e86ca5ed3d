#include "server/mindspore/profile.h"

#include <charconv>
#include <limits>
#include <utility>

namespace graphdbg::mindspore {
namespace {

using Release = std::pair<int, int>;

constexpr int kNewest = std::numeric_limits<int>::max();

Release ReleaseOf(std::string_view version) {
  Release release{0, 0};
  const char* const end = version.data() + version.size();
  auto major = std::from_chars(version.data(), end, release.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') {
    return {kNewest, 0};
  }
  auto minor = std::from_chars(major.ptr + 1, end, release.second);
  if (minor.ec != std::errc()) return {kNewest, 0};
  return release;
}

}  // namespace

Profile ProfileOf(std::string_view ms_version) {
  const Release release =
      ms_version.empty() ? Release{1, 0} : ReleaseOf(ms_version);
  Profile profile;
  profile.simple_conditions = release < Release{1, 1};
  profile.graph_names = release >= Release{1, 3};
  profile.view_levels = release >= Release{1, 5};
  profile.atol_first = release < Release{1, 6};
  return profile;
}

std::map<model::ControlVerb, std::string> UnsupportedCommands(
    const Profile& profile, bool gpu) {
  std::map<model::ControlVerb, std::string> unsupported;
  if (!gpu) {
    for (auto verb :
         {model::ControlVerb::kNextNode, model::ControlVerb::kContinueTo}) {
      unsupported[verb] =
          "MindSpore can stop at nodes only on GPUs; on Ascend it runs whole "
          "steps";
    }
  }
  if (profile.simple_conditions) {
    unsupported[model::ControlVerb::kRecheck] =
        "MindSpore 1.0 checks watchpoints only while it is running";
  }
  return unsupported;
}

}  // namespace graphdbg::mindspore
