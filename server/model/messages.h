// Conversions from and to messages of proto/graphdbg/v1 that both the agents'
// wire and the store contain.
#ifndef SERVER_MODEL_MESSAGES_H_
#define SERVER_MODEL_MESSAGES_H_

#include "proto/graphdbg/v1/graph.pb.h"
#include "proto/graphdbg/v1/tensor.pb.h"
#include "proto/graphdbg/v1/watch.pb.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::model {

Statistics FromMessage(const v1::Statistics& statistics);
v1::Statistics ToMessage(const Statistics& statistics);

SourceLine FromMessage(const v1::SourceFrame& frame);
v1::SourceFrame ToMessage(const SourceLine& line);

Condition FromMessage(const v1::Condition& condition);
v1::Condition ToMessage(const Condition& condition);

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_MESSAGES_H_
