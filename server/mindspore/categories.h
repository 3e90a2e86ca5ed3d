// Categories of nodes, derived from MindSpore's names and operators.
#ifndef SERVER_MINDSPORE_CATEGORIES_H_
#define SERVER_MINDSPORE_CATEGORIES_H_

#include <string_view>

#include "server/model/graph.h"

namespace graphdbg::mindspore {

// Names are full names. Parameters have the scope of their first consumer.
model::Category CategoryOfParameter(std::string_view name);
model::Category CategoryOfOp(std::string_view name, std::string_view op_type);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CATEGORIES_H_
