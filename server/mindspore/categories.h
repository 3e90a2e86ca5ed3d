// What nodes are for, by MindSpore's rules of names and operators.
#ifndef SERVER_MINDSPORE_CATEGORIES_H_
#define SERVER_MINDSPORE_CATEGORIES_H_

#include <string_view>

#include "server/model/graph.h"

namespace graphdbg::mindspore {

// Names are full ones; a parameter's has the scope of its first consumer.
model::Category CategoryOfParameter(std::string_view name);
model::Category CategoryOfOp(std::string_view name, std::string_view op_type);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CATEGORIES_H_
