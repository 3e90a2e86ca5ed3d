// Conditions of a training that runs without an error and does not learn. They
// need no threshold. The program's adapter tests them, because they concern
// optimizers, modes and data rather than one tensor.
#ifndef AGENT_CONDITIONS_TRAINING_CONDITIONS_H_
#define AGENT_CONDITIONS_TRAINING_CONDITIONS_H_

#include <vector>

#include "agent/conditions/catalogue.h"

namespace graphdbg::conditions {

// Rows of the catalogue, in display order. Together they are the set
// "not_training".
std::vector<Condition> TrainingConditions();

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_TRAINING_CONDITIONS_H_
