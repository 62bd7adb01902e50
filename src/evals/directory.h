// The folder that evaluation programs leave their reports in.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "evals/report.h"

namespace agent_graph::evals {

// A report among those of its set.
struct Run {
  ReportSummary summary;
  int64_t number = 1;  // of its set, chronological, from 1
};

// Thread-safe. Its calls read files: for the io pool. A report is parsed for the list once, until
// its file changes. Only regular files directly in the folder are ever opened, by names that the
// folder itself has: nothing a client says becomes a path.
class ReportDirectory {
 public:
  static constexpr size_t kReportsMax = 4096;  // the newest files count

  explicit ReportDirectory(std::string path) : path_(std::move(path)) {}

  // Newest first. What cannot be read or is no report is left out; no folder: nothing.
  std::vector<Run> List();

  struct Found {
    Run run;
    Report report;
    // The run before it of the same set, if any.
    std::optional<Run> previous_run;
    Report previous;
  };
  // Nothing when there is no report of that id.
  std::optional<Found> Find(const std::string& id);

 private:
  struct Known {
    int64_t modified_nanos = 0;
    int64_t size = 0;
    uint64_t inode = 0;
    std::optional<ReportSummary> summary;  // none: not a report
  };
  struct Entry {
    std::string name;
    Known known;
  };

  std::vector<Entry> Entries(int folder) const;
  std::optional<Report> Read(int folder, const std::string& name) const;

  const std::string path_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // guarded by mutex_; by file name
};

}  // namespace agent_graph::evals
