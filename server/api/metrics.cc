#include "server/api/metrics.h"

#include <map>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

void Head(std::string& text, const char* name, const char* type,
          const char* help) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ",
                  type, "\n");
}

void Single(std::string& text, const char* name, const char* type,
            const char* help, uint64_t value) {
  Head(text, name, type, help);
  absl::StrAppend(&text, name, " ", value, "\n");
}

std::string Escaped(const std::string& label) {
  return absl::StrReplaceAll(label,
                             {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

void AppendFindings(std::string& text,
                    const std::map<std::string, uint64_t>& counts) {
  Head(text, "graphdbg_findings_total", "counter",
       "What rules have found in live jobs.");
  for (const auto& [rule, count] : counts) {
    absl::StrAppend(&text, "graphdbg_findings_total{rule=\"", Escaped(rule),
                    "\"} ", count, "\n");
  }
}

void AppendOverheads(std::string& text,
                     const std::map<std::string, double>& overheads) {
  Head(text, "graphdbg_job_overhead_ratio", "gauge",
       "Share of a job's time that its threads spend in graphdbg's code.");
  for (const auto& [job, overhead] : overheads) {
    absl::StrAppend(&text, "graphdbg_job_overhead_ratio{job=\"", Escaped(job),
                    "\"} ", overhead, "\n");
  }
}

void AppendMemory(std::string& text, const MemoryBudget& memory) {
  Head(text, "graphdbg_memory_bytes", "gauge",
       "Memory in use, by what it is used for.");
  for (size_t i = 0; i < kMemoryAccounts; ++i) {
    const auto account = static_cast<MemoryAccount>(i);
    absl::StrAppend(&text, "graphdbg_memory_bytes{account=\"",
                    std::string(ToString(account)), "\"} ",
                    memory.used(account), "\n");
  }
  Single(text, "graphdbg_memory_limit_bytes", "gauge",
         "Memory that the server may use.", memory.limit());
  Single(text, "graphdbg_memory_refusals_total", "counter",
         "Requests and reports that were refused for lack of memory.",
         memory.refusals());
}

}  // namespace

boost::asio::awaitable<std::string> MetricsText(const Services& services) {
  using model::JobState;
  std::map<JobState, uint64_t> jobs = {
      {JobState::kConnecting, 0}, {JobState::kPaused, 0},
      {JobState::kRunning, 0},    {JobState::kPausing, 0},
      {JobState::kFinished, 0},   {JobState::kTerminated, 0},
      {JobState::kLost, 0}};
  uint64_t hits = 0;
  std::map<std::string, double> overheads;
  for (const auto& job : services.directory.Jobs()) {
    const std::shared_ptr<const model::Job> info = job->LastKnown();
    ++jobs[info->state];
    hits += info->hit_count;
    if (info->overhead) overheads[info->id] = *info->overhead;
  }
  http::ServerCounters http = services.http_counters();
  std::string text;
  Head(text, "graphdbg_jobs", "gauge", "Jobs by state.");
  for (const auto& [state, count] : jobs) {
    absl::StrAppend(&text, "graphdbg_jobs{state=\"",
                    std::string(model::ToString(state)), "\"} ", count, "\n");
  }
  Single(text, "graphdbg_hits", "gauge", "Hits of all jobs.", hits);
  AppendOverheads(text, overheads);
  if (services.rules != nullptr) {
    AppendFindings(text, services.rules->finding_counts());
  }
  Head(text, "graphdbg_http_responses_total", "counter",
       "HTTP responses by status class.");
  for (size_t i = 1; i < http.responses.size(); ++i) {
    absl::StrAppend(&text, "graphdbg_http_responses_total{status=\"", i,
                    "xx\"} ", http.responses[i], "\n");
  }
  Single(text, "graphdbg_http_connections_total", "counter",
         "Accepted connections.", http.connections);
  Single(text, "graphdbg_http_connections_refused_total", "counter",
         "Connections refused because of the limit.", http.connections_refused);
  Single(text, "graphdbg_http_connections", "gauge", "Open connections.",
         http.open_connections);
  Single(text, "graphdbg_event_readers", "gauge", "Open event streams.",
         http.open_channels);
  Single(text, "graphdbg_events_total", "counter", "Events of all jobs.",
         services.events.events());
  Single(text, "graphdbg_event_snapshots_total", "counter",
         "Snapshots sent to clients that were new or too slow.",
         services.counters.snapshots);
  if (services.memory != nullptr) AppendMemory(text, *services.memory);
  const model::Storage storage = services.storage();
  Single(text, "graphdbg_store_failed", "gauge",
         "1 while the server cannot store what happens.", storage.failing);
  Single(text, "graphdbg_store_waiting_bytes", "gauge",
         "Memory that holds what is not stored yet.", storage.waiting_bytes);
  Single(text, "graphdbg_store_dropped_statistics_total", "counter",
         "Statistics that were not stored because too much was waiting.",
         storage.dropped_statistics);
  Single(text, "graphdbg_jobs_damaged", "gauge",
         "Jobs that could not be restored completely.",
         storage.set_aside.size());
  co_return text;
}

}  // namespace graphdbg::api
