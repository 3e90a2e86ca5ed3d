// Differences between MindSpore releases that the server has to respect. All
// releases share one schema.
#ifndef SERVER_MINDSPORE_PROFILE_H_
#define SERVER_MINDSPORE_PROFILE_H_

#include <map>
#include <string>
#include <string_view>

#include "server/model/job.h"

namespace graphdbg::mindspore {

struct Profile {
  // 1.0: conditions have one value and no parameters; there is no recheck.
  bool simple_conditions = false;
  // 1.3 and later: watch nodes include the name of their graph.
  bool graph_names = false;
  // 1.5 and later: views can request statistics without values.
  bool view_levels = false;
  // Before 1.6: the first parameter of "not changed" is read as atol and the
  // second one as rtol, regardless of their names.
  bool atol_first = false;
};

// Depends on the first two numbers of a version such as "1.5.0-rc1". An empty
// version means 1.0, which does not send its version. A version that cannot be
// parsed counts as the newest one.
Profile ProfileOf(std::string_view ms_version);

// The commands that clients of this release do not support, with the reasons.
std::map<model::ControlVerb, std::string> UnsupportedCommands(
    const Profile& profile, bool gpu);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_PROFILE_H_
