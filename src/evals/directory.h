// The folder in which evaluation programs store their reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "evals/report.h"

namespace agent_graph::evals {

// A report and its number within its set.
struct Run {
  ReportSummary summary;
  int64_t number = 1;  // in its set, in order of time, from 1
};

// Thread-safe. Calls read files and block: run them on the io pool, one at a time, because others
// would wait and hold their threads of the pool. A report is parsed for the list only once, until
// its file changes. Only regular files directly in the folder are opened, by names that were read
// from the folder: no input of a client becomes part of a path.
class ReportDirectory {
 public:
  static constexpr size_t kReportsMax = 4096;  // only the newest files are listed

  explicit ReportDirectory(std::string path) : path_(std::move(path)) {}

  // Size of the largest file that List would parse now; 0: none. Parsing takes several times as
  // much memory.
  uint64_t LargestUnread();
  // Returns the reports, newest first. Files that cannot be read or are not reports are skipped.
  // Empty if the folder does not exist.
  std::vector<Run> List();

  // A report of the list, and the run before it in the same set, if any.
  struct Located {
    Run run;
    std::optional<Run> previous_run;
    uint64_t bytes = 0;  // sizes of their files
  };
  // Returns nullopt if there is no report with that id. Parses what List would.
  std::optional<Located> Locate(const std::string& id);

  struct Found {
    Run run;
    Report report;
    // The run before it in the same set, if any.
    std::optional<Run> previous_run;
    Report previous;
  };
  // Parses the reports. Returns nullopt if the file of the run is gone.
  std::optional<Found> Read(const Located& located) const;

 private:
  struct Known {
    int64_t modified_nanos = 0;
    int64_t size = 0;
    uint64_t inode = 0;
    std::optional<ReportSummary> summary;  // nullopt: not a report
  };
  struct Entry {
    std::string name;
    Known known;
  };

  std::vector<Entry> Entries(int folder) const;
  static bool IsSame(const Known& a, const Known& b);
  std::vector<Run> ListLocked() AG_REQUIRES(mutex_);
  static std::optional<Report> ReadFile(int folder, const std::string& name);

  const std::string path_;
  Mutex mutex_;
  std::map<std::string, Known> known_ AG_GUARDED_BY(mutex_);  // by file name
};

}  // namespace agent_graph::evals
