// Tensors that the session asks a training process for: turned into view
// commands, a few at a time, and answered from what the client sends.
#ifndef SERVER_MINDSPORE_VIEW_DESK_H_
#define SERVER_MINDSPORE_VIEW_DESK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_book.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/tensor_answer.h"

namespace graphdbg::mindspore {

// Not thread safe. The wire has no slices: tensors come whole, and are kept
// while the job stands still, so that looking around in one costs one transfer.
class ViewDesk {
 public:
  // Of the tensors of one command, which the client builds in memory whole.
  static constexpr uint64_t kMaxCommandBytes = uint64_t{64} << 20;
  // Of one tensor; the client itself fails above 2 GiB.
  static constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 30;
  // Of the values that are kept.
  static constexpr uint64_t kMaxKeptBytes = uint64_t{512} << 20;
  // Statistics alone are computed here from values up to this size, and by the
  // client, which is less exact, above.
  static constexpr uint64_t kMaxMeasuredBytes = uint64_t{16} << 20;

  // The book outlives the desk.
  explicit ViewDesk(const NodeBook& book) : book_(book) {}

  void Configure(const Profile& profile, bool gpu);

  void Ask(const jobs::TensorOrder& order);
  void Cancel(uint64_t request_id);

  // The next command; absent if nothing is asked for. Before the client has
  // answered one (ClientAsks) there is no other.
  std::optional<debugger::ViewCMD> Next();

  // The client's answers, of whatever level: old ones, and MindInsight's mock
  // client, send values all the same. What was not asked for is ignored.
  void Take(const debugger::TensorProto& piece);
  // The `index`-th message of the answer: these have no names.
  void Take(size_t index, const debugger::TensorBase& base);
  void Take(size_t index, const debugger::TensorSummary& summary);
  // The client is through with the command: what has not come, it does not
  // have.
  void ClientAsks();

  // Values are those of `step` from now on; what is kept of others goes.
  void SetStep(uint64_t step);

  // The answers since the last call.
  std::vector<jobs::TensorChunk> TakeAnswers();

 private:
  using Level = debugger::ViewCMD::Level;

  // What the client calls a tensor.
  struct Key {
    std::string node_name;
    std::string slot;
    std::string iter;
    bool truncate = false;

    auto Tuple() const { return std::tie(node_name, slot, iter); }
    bool operator<(const Key& o) const { return Tuple() < o.Tuple(); }
    bool operator==(const Key& o) const { return Tuple() == o.Tuple(); }
  };
  struct Request {
    jobs::TensorOrder order;
    Key key;
    Level level = debugger::ViewCMD::value;
    // 0: not known.
    uint64_t bytes = 0;
    uint64_t step = 0;

    // Than type and shape.
    bool wants_more() const {
      return order.query.want_data || order.query.want_statistics;
    }
  };
  struct Incoming {
    Value value;
    bool begun = false;
    bool too_large = false;
  };
  using ValuePtr = std::shared_ptr<const Value>;

  absl::StatusOr<Request> Plan(const jobs::TensorOrder& order) const;
  absl::Status PlanVersion(const model::TensorQuery& query,
                           const BookNode& node, Request& request) const;
  // Once it is known how large the tensor is. RESOURCE_EXHAUSTED.
  absl::Status PlanLevel(uint64_t bytes, Request& request) const;
  // False if the value is not there to be found without the client.
  bool AnswerAtOnce(const Request& request, const BookNode& node);
  void Finish(const Key& key, Incoming incoming);
  template <class Result>
  void AnswerAll(const Key& key, const Result& result);
  void Keep(const Key& key, ValuePtr value);
  absl::Status Gone(const Request& request) const;

  const NodeBook& book_;
  Profile profile_;
  bool gpu_ = false;
  uint64_t step_ = 0;
  std::deque<Request> waiting_;
  // Of the command that the client is answering, in its order.
  std::vector<Request> under_way_;
  std::vector<Key> asked_;
  std::map<Key, Incoming> incoming_;
  std::map<Key, ValuePtr> kept_;
  uint64_t kept_bytes_ = 0;
  std::vector<jobs::TensorChunk> answers_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_VIEW_DESK_H_
