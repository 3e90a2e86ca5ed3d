// What releases of MindSpore understand. The schema is one for all of them;
// this is what a server has to do differently.
#ifndef SERVER_MINDSPORE_PROFILE_H_
#define SERVER_MINDSPORE_PROFILE_H_

#include <map>
#include <string>
#include <string_view>

#include "server/model/job.h"

namespace graphdbg::mindspore {

struct Profile {
  // 1.0: conditions with one value each, no parameters, no recheck.
  bool simple_conditions = false;
  // From 1.3: watch nodes name their graph.
  bool graph_names = false;
  // From 1.5: views of statistics without values.
  bool view_levels = false;
  // Before 1.6: the first parameter of "not changed" is read as atol, the
  // second as rtol, whatever their names.
  bool atol_first = false;
};

// By the first two numbers of a version as "1.5.0-rc1". None at all is 1.0,
// which does not say its version; one that cannot be read counts as the newest.
Profile ProfileOf(std::string_view ms_version);

// What clients of this release cannot do, and why.
std::map<model::ControlVerb, std::string> UnsupportedCommands(
    const Profile& profile, bool gpu);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_PROFILE_H_
