// Names the likely cause of a hit.
#ifndef SERVER_DIAGNOSIS_DIAGNOSE_H_
#define SERVER_DIAGNOSIS_DIAGNOSE_H_

#include "server/diagnosis/facts.h"
#include "server/model/diagnosis.h"

namespace graphdbg::diagnosis {

// The first rule that explains the facts, with the advice about the hit's
// condition and op. Any thread.
model::Diagnosis Diagnose(const Facts& facts);

}  // namespace graphdbg::diagnosis

#endif  // SERVER_DIAGNOSIS_DIAGNOSE_H_
