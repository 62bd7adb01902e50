#include "evals/report.h"

#include <algorithm>
#include <cmath>

#include "agent_graph/json.h"
#include "base/json.h"
#include "evals/mean.h"

namespace agent_graph::evals {
namespace {

constexpr JsonLimits kReportLimits{128, 1'000'000};
constexpr double kCountMax = 1e15;
constexpr double kScoreMax = 1e12;  // keeps sums of scores finite, as JSON requires

const json& Member(const json& object, const char* name) {
  static const json* const nothing = new json();  // threads may outlive static objects
  if (!object.is_object()) return *nothing;
  auto found = object.find(name);
  return found == object.end() ? *nothing : *found;
}

std::string Text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? DumpJson(value) : std::string();
}

double Number(const json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

double Score(const json& value) {
  return std::clamp(Number(value), -kScoreMax, kScoreMax);
}

int64_t Count(const json& value) {
  return static_cast<int64_t>(std::clamp(Number(value), 0.0, kCountMax));
}

bool True(const json& value) {
  return value.is_boolean() && value.get<bool>();
}

int64_t Tokens(const json& usage) {
  return Count(Member(usage, "total_tokens"));
}

// Returns the text of a message: a string, or the joined text blocks of an array.
std::string ContentText(const json& content) {
  if (!content.is_array()) return Text(content);
  std::string text;
  for (const json& block : content) {
    const json& piece = Member(block, "text");
    if (!piece.is_string()) continue;
    if (!text.empty()) text += ' ';
    text += piece.get_ref<const std::string&>();
  }
  return text;
}

std::optional<std::string> FirstUserText(const json& messages) {
  if (!messages.is_array()) return std::nullopt;
  for (const json& message : messages) {
    if (Text(Member(message, "role")) != "user") continue;
    std::string text = ContentText(Member(message, "content"));
    if (text.empty()) return std::nullopt;
    return text;
  }
  return std::nullopt;
}

Criterion ReadCriterion(const json& value) {
  Criterion criterion;
  criterion.name = Text(Member(value, "criterion"));
  criterion.score = Score(Member(value, "score"));
  criterion.passed = True(Member(value, "passed"));
  const json& threshold = Member(value, "threshold");
  if (threshold.is_number()) criterion.threshold = Score(threshold);
  return criterion;
}

EvalCase ReadCase(const json& value) {
  EvalCase out;
  out.id = Text(Member(value, "eval_id"));
  out.name = Text(Member(value, "name"));
  out.passed = True(Member(value, "passed"));
  out.simulated = !Member(Member(value, "metadata"), "turns").is_null();
  const json& criteria = Member(value, "criterion_results");
  if (criteria.is_array()) {
    for (const json& criterion : criteria) out.criteria.push_back(ReadCriterion(criterion));
  }
  out.duration_seconds = Number(Member(value, "duration_seconds"));
  out.tokens = Tokens(Member(value, "token_usage"));
  out.input = FirstUserText(Member(value, "messages"));
  out.response = ContentText(Member(value, "actual_response"));
  return out;
}

ReportSummary ReadSummary(std::string id, const json& document) {
  const json& counts = Member(document, "summary");
  ReportSummary summary;
  summary.set_id = Text(Member(document, "eval_set_id"));
  summary.set_name = Text(Member(document, "eval_set_name"));
  if (summary.label().empty()) summary.set_name = id;
  if (summary.set_id.empty()) summary.set_id = summary.set_name;
  summary.id = std::move(id);
  summary.timestamp = std::clamp(Number(Member(document, "timestamp")), 0.0, 1e11);
  summary.cases = Count(Member(counts, "total_cases"));
  summary.pass_rate = std::clamp(Number(Member(counts, "pass_rate")), 0.0, 1.0);
  return summary;
}

}  // namespace

double EvalCase::score() const {
  if (criteria.empty()) return passed ? 1 : 0;
  std::vector<double> scores;
  scores.reserve(criteria.size());
  for (const Criterion& criterion : criteria) scores.push_back(criterion.score);
  return Mean(scores);
}

double Report::average_score() const {
  std::vector<double> scores;
  scores.reserve(cases.size());
  for (const EvalCase& one : cases) scores.push_back(one.score());
  return Mean(scores);
}

Result<Report> ParseReport(std::string id, std::string_view text) {
  AG_ASSIGN_OR_RETURN(json document, ParseJson(text, kReportLimits));
  if (!document.is_object()) {
    return Status(StatusCode::kInvalidArgument, "a report is a JSON object");
  }
  Report report;
  report.summary = ReadSummary(std::move(id), document);
  report.model = Text(Member(Member(document, "config_used"), "model"));
  const json& counts = Member(document, "summary");
  report.passed_cases = Count(Member(counts, "passed_cases"));
  report.failed_cases =
      Count(Member(counts, "failed_cases")) + Count(Member(counts, "error_cases"));
  report.average_seconds = Number(Member(counts, "avg_duration_seconds"));
  report.total_seconds = Number(Member(counts, "total_duration_seconds"));
  report.tokens = Tokens(Member(counts, "total_token_usage"));
  const json& results = Member(document, "results");
  if (results.is_array()) {
    for (const json& result : results) report.cases.push_back(ReadCase(result));
  }
  return report;
}

}  // namespace agent_graph::evals
