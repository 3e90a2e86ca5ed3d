#include "server/model/messages.h"

namespace graphdbg::model {

Statistics FromMessage(const v1::Statistics& s) {
  Statistics out;
  out.count = s.count();
  out.nan_count = s.nan_count();
  out.pos_inf_count = s.pos_inf_count();
  out.neg_inf_count = s.neg_inf_count();
  out.zero_count = s.zero_count();
  out.negative_count = s.negative_count();
  out.positive_count = s.positive_count();
  if (s.has_min()) out.min = s.min();
  if (s.has_max()) out.max = s.max();
  if (s.has_mean()) out.mean = s.mean();
  if (s.has_abs_mean()) out.abs_mean = s.abs_mean();
  if (s.has_abs_max()) out.abs_max = s.abs_max();
  if (s.has_variance()) out.variance = s.variance();
  if (s.has_l1()) out.l1 = s.l1();
  if (s.has_l2()) out.l2 = s.l2();
  return out;
}

v1::Statistics ToMessage(const Statistics& s) {
  v1::Statistics out;
  out.set_count(s.count);
  out.set_nan_count(s.nan_count);
  out.set_pos_inf_count(s.pos_inf_count);
  out.set_neg_inf_count(s.neg_inf_count);
  out.set_zero_count(s.zero_count);
  out.set_negative_count(s.negative_count);
  out.set_positive_count(s.positive_count);
  if (s.min) out.set_min(*s.min);
  if (s.max) out.set_max(*s.max);
  if (s.mean) out.set_mean(*s.mean);
  if (s.abs_mean) out.set_abs_mean(*s.abs_mean);
  if (s.abs_max) out.set_abs_max(*s.abs_max);
  if (s.variance) out.set_variance(*s.variance);
  if (s.l1) out.set_l1(*s.l1);
  if (s.l2) out.set_l2(*s.l2);
  return out;
}

SourceLine FromMessage(const v1::SourceFrame& frame) {
  return {frame.file(), frame.line(), frame.function(), frame.text(),
          frame.user()};
}

v1::SourceFrame ToMessage(const SourceLine& line) {
  v1::SourceFrame out;
  out.set_file(line.file);
  out.set_line(line.line);
  out.set_function(line.function);
  out.set_text(line.text);
  out.set_user(line.user);
  return out;
}

Condition FromMessage(const v1::Condition& condition) {
  return {condition.id(),
          {condition.params().begin(), condition.params().end()},
          {condition.text_params().begin(), condition.text_params().end()}};
}

v1::Condition ToMessage(const Condition& condition) {
  v1::Condition out;
  out.set_id(condition.id);
  out.mutable_params()->insert(condition.params.begin(),
                               condition.params.end());
  out.mutable_text_params()->insert(condition.text_params.begin(),
                                    condition.text_params.end());
  return out;
}

}  // namespace graphdbg::model
