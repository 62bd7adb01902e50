#include "evals/regression.h"

#include <cmath>
#include <map>
#include <string_view>

#include "agent_graph/json.h"
#include "evals/format.h"

namespace agent_graph::evals {
namespace {

constexpr double kFlatBelow = 0.005;  // a smaller difference is not visible in two decimals

json Tile(const char* label, std::string value, const char* tone) {
  return {{"label", label}, {"value", std::move(value)}, {"tone", tone}};
}

std::string RunName(const Run& run) {
  return "run #" + std::to_string(run.number) + " (" +
         Format("%.1f", Percent(run.summary.pass_rate)) + "%)";
}

json Row(const EvalCase& now, const EvalCase& before) {
  double change = now.score() - before.score();
  const char* direction = "flat";
  std::string tail = "\u2014";
  if (std::abs(change) >= kFlatBelow) {
    direction = change > 0 ? "up" : "down";
    tail = (change > 0 ? "\u25b2" : "\u25bc") + Format("%.2f", std::abs(change));
  }
  bool stay = now.passed == before.passed;
  std::string flip = before.passed ? "pass" : "fail";
  flip += stay ? " (same)" : now.passed ? " \u2192 pass" : " \u2192 fail";
  return {{"name", now.label()},
          {"delta",
           Format("%.2f", before.score()) + " \u2192 " + Format("%.2f", now.score()) + "  " + tail},
          {"dir", direction},
          {"flip", std::move(flip)},
          {"stay", stay}};
}

}  // namespace

json RegressionJson(const Run& run, const Report& report, const Run& previous_run,
                    const Report& previous) {
  std::map<std::string_view, const EvalCase*> before;
  for (const EvalCase& one : previous.cases) {
    if (!one.id.empty()) before.emplace(one.id, &one);
  }
  json rows = json::array();
  int newly_failing = 0;
  int newly_passing = 0;
  for (const EvalCase& one : report.cases) {
    auto found = before.find(one.id);
    if (found == before.end()) continue;
    if (found->second->passed && !one.passed) ++newly_failing;
    if (!found->second->passed && one.passed) ++newly_passing;
    rows.push_back(Row(one, *found->second));
  }
  double rate = 100 * run.summary.pass_rate - 100 * previous_run.summary.pass_rate;
  double score = report.average_score() - previous.average_score();
  return {{"note",
           {{"current", RunName(run)}, {"prev", RunName(previous_run)}, {"suite", "same suite"}}},
          {"summary",
           {Tile("pass-rate drift", Format("%+.1fpp", rate), rate < 0 ? "bad" : "ok"),
            Tile("newly failing", std::to_string(newly_failing), newly_failing > 0 ? "bad" : "ok"),
            Tile("newly passing", std::to_string(newly_passing), "ok"),
            Tile("avg score drift", Format("%+.2f", score), score < 0 ? "warn" : "ok")}},
          {"rows", std::move(rows)}};
}

}  // namespace agent_graph::evals
