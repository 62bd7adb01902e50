// An evaluation report: a JSON document that an evaluation program has written.
//
// This service does not control the contents, so every field may be missing or have another type;
// it then gets a neutral value. Only a document that is not a JSON object is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace agent_graph::evals {

// The fields of a report that a list shows.
struct ReportSummary {
  std::string id;      // file name without ".json"
  std::string set_id;  // eval_set_id
  std::string set_name;
  double timestamp = 0;  // Unix seconds
  int64_t cases = 0;
  double pass_rate = 0;  // 0 to 1

  const std::string& label() const { return set_name.empty() ? set_id : set_name; }
  bool passed() const { return pass_rate >= 1; }
};

// The score of a case by one criterion.
struct Criterion {
  std::string name;
  double score = 0;
  bool passed = false;
  std::optional<double> threshold;
};

// A case of a report.
struct EvalCase {
  std::string id;
  std::string name;
  bool passed = false;
  bool simulated = false;  // a conversation with a simulated user
  std::vector<Criterion> criteria;
  double duration_seconds = 0;
  int64_t tokens = 0;
  std::optional<std::string> input;  // first message of the user
  std::string response;

  double score() const;  // mean of the criteria, or 1 or 0 if there are none
  const std::string& label() const { return name.empty() ? id : name; }
};

// A parsed report.
struct Report {
  ReportSummary summary;
  std::string model;  // empty: not recorded
  int64_t passed_cases = 0;
  int64_t failed_cases = 0;  // including errors
  double average_seconds = 0;
  double total_seconds = 0;
  int64_t tokens = 0;
  std::vector<EvalCase> cases;

  double average_score() const;
};

inline constexpr size_t kReportBytesMax = 32 * 1024 * 1024;

// kInvalidArgument: `text` is not a JSON object.
Result<Report> ParseReport(std::string id, std::string_view text);

}  // namespace agent_graph::evals
