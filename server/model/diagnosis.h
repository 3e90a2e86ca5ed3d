// What is known of the cause of a hit, and which hits have the same cause.
#ifndef SERVER_MODEL_DIAGNOSIS_H_
#define SERVER_MODEL_DIAGNOSIS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/model/watch.h"

namespace graphdbg::model {

// What a client shows of a tensor as evidence: the cells that matched, its
// values, its statistics over steps, or the node.
enum class EvidenceView { kCells, kValues, kHistory, kNode };

struct EvidenceLink {
  // For a button: "Show 62 cells".
  std::string label;
  EvidenceView view = EvidenceView::kNode;
  std::string node;
  uint32_t slot = 0;
  uint64_t step = 0;
  uint32_t rank = 0;
};

// The likely cause of a hit. If no rule explains the hit, `rule`, `title` and
// `text` are empty.
struct Diagnosis {
  uint64_t hit = 0;
  // A stable id: "log_of_zero".
  std::string rule;
  // "Overflow in float16".
  std::string title;
  // One or two sentences with numbers as evidence.
  std::string text;
  std::vector<EvidenceLink> evidence;
  // What else may have caused it, and what to look at or to try, in this order.
  std::vector<std::string> causes;
  std::vector<std::string> next;
};

// Successive steps.
struct StepRange {
  uint64_t first = 0;
  uint64_t last = 0;

  bool operator==(const StepRange&) const = default;
};

// Hits with one cause: those at the node where values went wrong first, and
// those that passed them on, on all ranks and in all steps.
struct Incident {
  // The id of the first hit at the origin.
  uint64_t id = 0;
  // The first hit at the origin, or the first that is known.
  Hit origin;
  Diagnosis diagnosis;
  // Ids of the conditions that the origin's tensors met.
  std::vector<std::string> conditions;
  // The rank where it began, and all ranks with a hit, ascending.
  uint32_t first_rank = 0;
  std::vector<uint32_t> ranks;
  // Counted without absorbed hits.
  uint64_t hit_count = 0;
  // Different tensors that the values have reached, besides the origin's.
  uint64_t reached_count = 0;
  // The first of them.
  std::optional<Hit> first_reached;
  // Ascending.
  std::vector<StepRange> steps;
};

struct IncidentPage {
  // By the order of their first hits.
  std::vector<Incident> incidents;
  // How many there are; the page may contain fewer.
  uint64_t total = 0;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_DIAGNOSIS_H_
