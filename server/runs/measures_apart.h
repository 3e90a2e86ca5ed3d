// Whether two records of a tensor are equal.
#ifndef SERVER_RUNS_MEASURES_APART_H_
#define SERVER_RUNS_MEASURES_APART_H_

#include <optional>

#include "proto/runs/record.h"
#include "server/model/divergence.h"

namespace graphdbg::recorded {

// The first measure of two records that differs, and its values.
struct Apart {
  const char* measure = nullptr;
  model::ComparedValue here;
  model::ComparedValue there;
};

// Of two records of kind kChange: whether their digests differ.
std::optional<Apart> DigestsApart(const runs::Record& here,
                                  const runs::Record& there);

// How far measures may be apart.
struct Allowance {
  double relative = 0;
  double absolute = 0;
  // By how much single elements may differ, and with them the measures.
  double of_elements = 0;
};

// Of two records of kind kStatistics. Counts must be equal; measures are equal
// if |here - there| <= absolute + relative * size. The size is the larger
// absolute value of the two; of means, which may cancel out, the larger mean of
// absolute values, of variances the larger mean of squares, and of the least
// and greatest element the larger greatest absolute value. A difference that
// follows from elements which differ by at most `of_elements` is none, either.
std::optional<Apart> MeasuresApart(const runs::Record& here,
                                   const runs::Record& there,
                                   const Allowance& allowance);

// The largest relative difference of a measure; 0 where they are equal.
double RelativeDifference(const runs::Record& here, const runs::Record& there);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_MEASURES_APART_H_
