#include "evals/view.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "agent_graph/json.h"
#include "base/json.h"
#include "evals/format.h"
#include "evals/mean.h"
#include "evals/regression.h"

namespace agent_graph::evals {
namespace {

constexpr char kNothing[] = "\u2014";  // a dash
constexpr char kDot[] = " \u00b7 ";
constexpr int64_t kThresholdPercentDefault = 80;
constexpr std::string_view kUserPrefix = "USER:";
constexpr std::string_view kAgentPrefix = "AGENT:";

double TwoDecimals(double value) {
  return Rounded(value, 2);
}

std::string UtcMinute(double timestamp) {
  auto seconds = static_cast<time_t>(timestamp);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc);
  return {text, length};
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// Returns the turns of a simulated conversation. Its transcript has one turn per line.
json Conversation(const EvalCase& one) {
  json turns = json::array();
  for (std::string_view rest = one.response; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view line = Trim(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) continue;
    const char* role = "agent";
    if (line.starts_with(kUserPrefix)) {
      role = "sim";
      line.remove_prefix(kUserPrefix.size());
    } else if (line.starts_with(kAgentPrefix)) {
      line.remove_prefix(kAgentPrefix.size());
    }
    turns.push_back({{"role", role}, {"text", std::string(Trim(line))}});
  }
  return turns.empty() ? json() : turns;
}

json Rubric(const EvalCase& one) {
  if (one.criteria.empty()) return nullptr;
  auto row = [](const std::string& key, double value, bool passed) {
    return json{
        {"key", key}, {"value", TwoDecimals(value)}, {"tone", passed ? "accent" : "danger"}};
  };
  json rows = json::array();
  for (const Criterion& criterion : one.criteria) {
    rows.push_back(row(criterion.name, criterion.score, criterion.passed));
  }
  rows.push_back(row("weighted score", one.score(), one.passed));
  return rows;
}

json CaseJson(const EvalCase& one) {
  return {{"id", one.id},
          {"name", one.label()},
          {"type", one.simulated ? "sim" : "eval"},
          {"score", TwoDecimals(one.score())},
          {"status", one.passed ? "pass" : "fail"},
          {"lat", SecondsText(one.duration_seconds)},
          {"cost", TokenText(one.tokens)},
          {"input", one.input.value_or(kNothing)},
          {"expected", kNothing},
          {"actual", one.response.empty() ? kNothing : one.response},
          {"rubric", Rubric(one)},
          {"conversation", one.simulated ? Conversation(one) : json()}};
}

// Returns the mean of the distinct thresholds of all criteria, in percent.
int64_t Threshold(const Report& report) {
  std::set<double> distinct;
  for (const EvalCase& one : report.cases) {
    for (const Criterion& criterion : one.criteria) {
      if (criterion.threshold) distinct.insert(*criterion.threshold);
    }
  }
  if (distinct.empty()) return kThresholdPercentDefault;
  const std::vector<double> thresholds(distinct.begin(), distinct.end());
  // Do not change the order of these operations: it decides how a tie is rounded.
  const double percent = 100 * Sum(thresholds) / static_cast<double>(thresholds.size());
  return static_cast<int64_t>(Rounded(percent, 0));
}

json Stats(const Report& report) {
  auto tile = [](const char* label, std::string value, const char* tone = nullptr) {
    json out = {{"label", label}, {"value", std::move(value)}};
    if (tone != nullptr) out["tone"] = tone;
    return out;
  };
  return json::array({tile("cases", std::to_string(report.summary.cases)),
                      tile("passed", std::to_string(report.passed_cases), "ok"),
                      tile("failed", std::to_string(report.failed_cases), "bad"),
                      tile("avg score", Format("%.2f", report.average_score())),
                      tile("avg latency", SecondsText(report.average_seconds)),
                      tile("total tokens", TokenText(report.tokens))});
}

std::string Subtitle(const Report& report) {
  std::string text = report.summary.set_id;
  for (const std::string& part :
       {report.model, UtcMinute(report.summary.timestamp), SecondsText(report.total_seconds)}) {
    if (part.empty()) continue;
    if (!text.empty()) text += kDot;
    text += part;
  }
  return text;
}

const char* StatusText(const ReportSummary& summary) {
  return summary.passed() ? "pass" : "fail";
}

}  // namespace

std::string ListJson(const std::vector<Run>& runs, double now) {
  json rows = json::array();
  for (const Run& run : runs) {
    const ReportSummary& summary = run.summary;
    rows.push_back({{"id", summary.id},
                    {"name", summary.label()},
                    {"run", std::string("#") + std::to_string(run.number)},
                    {"rate", Percent(summary.pass_rate)},
                    {"status", StatusText(summary)},
                    {"cases", summary.cases},
                    {"ago", Ago(now - summary.timestamp)}});
  }
  return DumpJson({{"runs", std::move(rows)}});
}

std::string RunJson(const ReportDirectory::Found& found) {
  const Report& report = found.report;
  json cases = json::array();
  for (const EvalCase& one : report.cases) cases.push_back(CaseJson(one));
  json regression;
  if (found.previous_run) {
    regression = RegressionJson(found.run, report, *found.previous_run, found.previous);
  }
  return DumpJson(
      {{"title", report.summary.label() + kDot + "run #" + std::to_string(found.run.number)},
       {"sub", Subtitle(report)},
       {"rate", Percent(report.summary.pass_rate)},
       {"status", StatusText(report.summary)},
       {"threshold", Threshold(report)},
       {"stats", Stats(report)},
       {"cases", std::move(cases)},
       {"regression", std::move(regression)}});
}

}  // namespace agent_graph::evals
