#ifndef SERVER_MODEL_RUN_MODE_H_
#define SERVER_MODEL_RUN_MODE_H_

namespace graphdbg::model {

// Numbers as in the records of a run.
enum class RunMode { kUnknown = 0, kTrain = 1, kEval = 2, kPredict = 3 };

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_RUN_MODE_H_
