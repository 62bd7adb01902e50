#include "evals/view.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent_graph/json.h"
#include "evals/format.h"

namespace agent_graph::evals {
namespace {

class Reports : public testing::Test {
 protected:
  Reports() {
    char name[] = "/tmp/evals-XXXXXX";
    path_ = mkdtemp(name);
    directory_.emplace(path_);
  }
  ~Reports() override { std::filesystem::remove_all(path_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
  }
  void Write(const std::string& name, const json& report) { Write(name, report.dump()); }

  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const evals::Run& run : directory_->List()) ids.push_back(run.summary.id);
    return ids;
  }

  std::optional<ReportDirectory::Found> Find(const std::string& id) {
    const auto located = directory_->Locate(id);
    return located ? directory_->Read(*located) : std::nullopt;
  }

  std::string path_;
  std::optional<ReportDirectory> directory_;
};

json Minimal(const std::string& set, double timestamp, double rate = 1) {
  return {{"eval_set_id", set},
          {"timestamp", timestamp},
          {"summary", {{"total_cases", 2}, {"pass_rate", rate}}},
          {"results", json::array()}};
}

TEST_F(Reports, AreNumberedBySetAndListedNewestFirst) {
  Write("b.json", Minimal("one", 200));
  Write("a.json", Minimal("one", 100));
  Write("c.json", Minimal("two", 150, 0.5));
  const json list = json::parse(ListJson(directory_->List(), 200 + 59));
  ASSERT_EQ(list["runs"].size(), 3u);
  EXPECT_EQ(list["runs"][0], (json{{"id", "b"},
                                   {"name", "one"},
                                   {"run", "#2"},
                                   {"rate", 100.0},
                                   {"status", "pass"},
                                   {"cases", 2},
                                   {"ago", "just now"}}));
  EXPECT_EQ(list["runs"][1]["run"], "#1");
  EXPECT_EQ(list["runs"][1]["status"], "fail");
  EXPECT_EQ(list["runs"][2]["id"], "a");
}

TEST_F(Reports, BrokenFilesAreSkipped) {
  Write("array.json", std::string("[1,2]"));
  Write("empty.json", std::string());
  Write("cut.json", std::string("{\"eval_set_id\": "));
  Write("good.json", Minimal("one", 1));
  Write("other.txt", Minimal("one", 1));
  Write(".json", Minimal("one", 1));
  std::filesystem::create_directory(path_ + "/folder.json");
  std::filesystem::create_symlink("/etc/passwd", path_ + "/link.json");
  ASSERT_EQ(mkfifo((path_ + "/pipe.json").c_str(), 0600), 0);
  EXPECT_EQ(Ids(), std::vector<std::string>{"good"});
}

TEST_F(Reports, WithoutAnyFieldIsTolerated) {
  Write("bare.json", std::string("{}"));
  Write("odd.json", std::string(R"({"eval_set_id": [], "timestamp": "x", "summary": 5,
      "results": [1, null, {"criterion_results": [7], "messages": [3], "metadata": 2}]})"));
  const auto runs = directory_->List();
  ASSERT_EQ(runs.size(), 2u);
  for (const evals::Run& run : runs) {
    const auto found = Find(run.summary.id);
    ASSERT_TRUE(found);
    const json shown = json::parse(RunJson(*found));
    EXPECT_TRUE(shown["rate"].is_number());
    EXPECT_EQ(shown["threshold"], 80);
    EXPECT_EQ(shown["regression"], nullptr);
  }
}

TEST_F(Reports, AreReadAgainWhenTheyChange) {
  Write("a.json", Minimal("one", 1));
  EXPECT_EQ(directory_->List().at(0).summary.cases, 2);
  json changed = Minimal("one", 1);
  changed["summary"]["total_cases"] = 12345;
  Write("a.json", changed);
  EXPECT_EQ(directory_->List().at(0).summary.cases, 12345);
  std::filesystem::remove(path_ + "/a.json");
  EXPECT_TRUE(directory_->List().empty());
}

TEST_F(Reports, AreFoundByTheNamesOfTheFolderOnly) {
  Write("a.json", Minimal("one", 1));
  EXPECT_TRUE(Find("a"));
  const std::string folder = path_.substr(path_.rfind('/') + 1);
  for (const std::string& id :
       std::vector<std::string>{"", ".", "..", "a.json", "./a", "/a", "../" + folder + "/a", "A"}) {
    EXPECT_FALSE(Find(id)) << id;
  }
}

TEST_F(Reports, HaveTheSizesOfWhatIsParsed) {
  const std::string first = Minimal("one", 100).dump();
  const std::string second = Minimal("one", 200).dump() + "  ";
  Write("a.json", first);
  Write("b.json", second);
  EXPECT_EQ(directory_->LargestUnread(), second.size());
  EXPECT_EQ(directory_->Locate("a")->bytes, first.size());
  EXPECT_EQ(directory_->LargestUnread(), 0u) << "each is parsed for the list once";
  EXPECT_EQ(directory_->Locate("b")->bytes, first.size() + second.size());
  const auto located = directory_->Locate("b");
  std::filesystem::remove(path_ + "/a.json");
  EXPECT_FALSE(directory_->Read(*located)->previous_run);
  std::filesystem::remove(path_ + "/b.json");
  EXPECT_FALSE(directory_->Read(*located));
}

TEST(ReportDirectory, MissingIsEmpty) {
  EXPECT_TRUE(ReportDirectory("/nonexistent/eval_reports").List().empty());
  EXPECT_FALSE(ReportDirectory("/nonexistent/eval_reports").Locate("a"));
  EXPECT_EQ(ReportDirectory("/nonexistent/eval_reports").LargestUnread(), 0u);
}

// A run of three cases with scores, tokens, messages and a simulated conversation.
json ReportWithCases() {
  json report = Minimal("set-1", 1750000000.5, 0.9996);
  report["eval_set_name"] = "Basics";
  report["config_used"] = {{"model", "m-1"}};
  report["summary"].update({{"total_cases", 3},
                            {"passed_cases", 1},
                            {"failed_cases", 1},
                            {"error_cases", 1},
                            {"avg_duration_seconds", 3.14159},
                            {"total_duration_seconds", 9.4},
                            {"total_token_usage", {{"total_tokens", 1549}}}});
  report["results"] = json::array({
      {{"eval_id", "1"},
       {"name", "greets"},
       {"passed", false},
       {"criterion_results",
        {{{"criterion", "tone"}, {"score", 0.5}, {"passed", false}, {"threshold", 0.7}},
         {{"criterion", "facts"}, {"score", 0.876}, {"passed", true}, {"threshold", 0.9}}}},
       {"duration_seconds", 3.06},
       {"token_usage", {{"total_tokens", 999}}},
       {"messages",
        {{{"role", "system"}, {"content", "s"}},
         {{"role", "user"},
          {"content",
           {{{"type", "text"}, {"text", "hello"}},
            {{"type", "image"}},
            {{"type", "text"}, {"text", "there"}}}}}}},
       {"actual_response", "hi"}},
      {{"eval_id", "2"},
       {"passed", true},
       {"metadata", {{"turns", 2}}},
       {"actual_response", "USER: hi\n\nAGENT: hello\nstill me\n"}},
  });
  return report;
}

TEST_F(Reports, ShowCases) {
  Write("r.json", ReportWithCases());
  const json shown = json::parse(RunJson(*Find("r")));
  EXPECT_EQ(shown["title"], "Basics \u00b7 run #1");
  EXPECT_EQ(shown["sub"], "set-1 \u00b7 m-1 \u00b7 2025-06-15 15:06 \u00b7 9.4s");
  EXPECT_EQ(shown["rate"], 100.0);
  EXPECT_EQ(shown["status"], "fail");
  EXPECT_EQ(shown["threshold"], 80);
  EXPECT_EQ(shown["stats"][2], (json{{"label", "failed"}, {"value", "2"}, {"tone", "bad"}}));
  EXPECT_EQ(shown["stats"][3]["value"], "0.84");
  EXPECT_EQ(shown["stats"][4]["value"], "3.1s");
  EXPECT_EQ(shown["stats"][5]["value"], "1.5k tok");
  const json& one = shown["cases"][0];
  EXPECT_EQ(one["type"], "eval");
  EXPECT_EQ(one["score"], 0.69);
  EXPECT_EQ(one["lat"], "3.1s");
  EXPECT_EQ(one["cost"], "999 tok");
  EXPECT_EQ(one["input"], "hello there");
  EXPECT_EQ(one["expected"], "\u2014");
  EXPECT_EQ(one["actual"], "hi");
  EXPECT_EQ(one["conversation"], nullptr);
  EXPECT_EQ(one["rubric"][1], (json{{"key", "facts"}, {"value", 0.88}, {"tone", "accent"}}));
  EXPECT_EQ(one["rubric"][2],
            (json{{"key", "weighted score"}, {"value", 0.69}, {"tone", "danger"}}));
  const json& two = shown["cases"][1];
  EXPECT_EQ(two["name"], "2");
  EXPECT_EQ(two["type"], "sim");
  EXPECT_EQ(two["score"], 1.0);
  EXPECT_EQ(two["rubric"], nullptr);
  EXPECT_EQ(two["input"], "\u2014");
  EXPECT_EQ(two["conversation"], json::parse(R"([{"role": "sim", "text": "hi"},
      {"role": "agent", "text": "hello"}, {"role": "agent", "text": "still me"}])"));
}

json WithCases(double timestamp, double rate, json results) {
  json report = Minimal("set", timestamp, rate);
  report["results"] = std::move(results);
  return report;
}

TEST_F(Reports, AreComparedWithTheRunBefore) {
  auto scored = [](const char* id, bool passed, double score) {
    return json{{"eval_id", id},
                {"passed", passed},
                {"criterion_results", {{{"criterion", "c"}, {"score", score}}}}};
  };
  Write("1.json", WithCases(1, 0.5,
                            {scored("up", false, 0.5), scored("down", true, 0.9),
                             scored("flat", true, 0.8), scored("gone", true, 1)}));
  Write("2.json", WithCases(2, 0.51,
                            {scored("up", true, 0.75),
                             scored("down", false, 0.4),
                             scored("flat", true, 0.804),
                             scored("fresh", true, 1),
                             {{"passed", true}}}));
  const json shown = json::parse(RunJson(*Find("2")))["regression"];
  EXPECT_EQ(
      shown["note"],
      (json{{"current", "run #2 (51.0%)"}, {"prev", "run #1 (50.0%)"}, {"suite", "same suite"}}));
  EXPECT_EQ(shown["summary"][0],
            (json{{"label", "pass-rate drift"}, {"value", "+1.0pp"}, {"tone", "ok"}}));
  EXPECT_EQ(shown["summary"][1],
            (json{{"label", "newly failing"}, {"value", "1"}, {"tone", "bad"}}));
  EXPECT_EQ(shown["summary"][2]["value"], "1");
  EXPECT_EQ(shown["summary"][3]["value"], "-0.01");
  EXPECT_EQ(shown["summary"][3]["tone"], "warn");
  ASSERT_EQ(shown["rows"].size(), 3u);
  EXPECT_EQ(shown["rows"][0], (json{{"name", "up"},
                                    {"delta", "0.50 \u2192 0.75  \u25b20.25"},
                                    {"dir", "up"},
                                    {"flip", "fail \u2192 pass"},
                                    {"stay", false}}));
  EXPECT_EQ(shown["rows"][1]["delta"], "0.90 \u2192 0.40  \u25bc0.50");
  EXPECT_EQ(shown["rows"][1]["flip"], "pass \u2192 fail");
  EXPECT_EQ(shown["rows"][2]["dir"], "flat");
  EXPECT_EQ(shown["rows"][2]["flip"], "pass (same)");
  EXPECT_EQ(json::parse(RunJson(*Find("1")))["regression"], nullptr);
}

// In binary, 0.955 is slightly less, and ties of the last decimal are rounded to even. Every place
// of an answer must show the same number.
TEST_F(Reports, RoundNumbersAsTheyPrintThem) {
  const json criteria = {{{"criterion", "c"}, {"score", 0.955}, {"threshold", 0.7}},
                         {{"criterion", "d"}, {"score", 0.955}, {"threshold", 0.75}}};
  const json one = {{"eval_id", "one"}, {"passed", true}, {"criterion_results", criteria}};
  Write("1.json", WithCases(1, 0.0625, {one}));
  const json shown = json::parse(RunJson(*Find("1")));
  EXPECT_EQ(shown["rate"], 6.2);
  EXPECT_EQ(shown["threshold"], 72);
  EXPECT_EQ(shown["cases"][0]["score"], 0.95);
  EXPECT_EQ(shown["cases"][0]["rubric"][0]["value"], 0.95);
  EXPECT_EQ(shown["stats"][3]["value"], "0.95");
}

// The expected numbers are those of Python 3.12: f"{sum(x) / len(x):.2f}", round(sum(x) / len(x),
// 2) and round(100 * sum(x) / len(x)).
struct Tie {
  std::vector<double> scores;
  const char* printed;
  double rounded;
  int percent;
};
const Tie kTies[] = {
    {{0, 0.05, 0.1, 0.15}, "0.07", 0.07, 8},  {{0.05, 0.2, 0.45, 0}, "0.18", 0.18, 18},
    {{0, 0.05, 0.8, 0.85}, "0.42", 0.42, 42}, {{0.1, 0.25, 0.95, 0}, "0.33", 0.33, 32},
    {{0, 0.005, 0.13}, "0.05", 0.05, 4},      {{0, 0.005, 0.58}, "0.19", 0.19, 20},
};

json Scored(const std::string& id, double score, double threshold) {
  return {
      {"eval_id", id},
      {"passed", true},
      {"criterion_results", {{{"criterion", "c"}, {"score", score}, {"threshold", threshold}}}}};
}

TEST_F(Reports, RoundMeansThatAreTies) {
  for (const Tie& tie : kTies) {
    json cases = json::array();
    json criteria = json::array();
    for (double score : tie.scores) {
      cases.push_back(Scored(std::to_string(cases.size()), score, score));
      criteria.push_back({{"criterion", "c"}, {"score", score}, {"threshold", score}});
    }
    Write("1.json", WithCases(1, 1, cases));
    Write("2.json", WithCases(2, 1, {{{"eval_id", "one"}, {"criterion_results", criteria}}}));
    json shown = json::parse(RunJson(*Find("1")));
    EXPECT_EQ(shown["stats"][3]["value"], tie.printed);
    EXPECT_EQ(shown["threshold"], tie.percent) << tie.printed;
    shown = json::parse(RunJson(*Find("2")));
    EXPECT_EQ(shown["cases"][0]["score"], tie.rounded);
    EXPECT_EQ(shown["cases"][0]["rubric"].back()["value"], tie.rounded);
    EXPECT_EQ(shown["stats"][3]["value"], tie.printed);
    EXPECT_EQ(shown["threshold"], tie.percent) << tie.printed;
  }
}

TEST_F(Reports, AbsurdScoresStayNumbers) {
  Write("1.json", WithCases(1, 1, {Scored("a", 1.7e308, 1.7e308), Scored("b", 1.7e308, -1.7e308)}));
  const json shown = json::parse(RunJson(*Find("1")));
  EXPECT_TRUE(shown["cases"][0]["score"].is_number());
  EXPECT_TRUE(shown["cases"][0]["rubric"][0]["value"].is_number());
  EXPECT_TRUE(shown["threshold"].is_number());
  EXPECT_EQ(shown["stats"][3]["value"].get<std::string>().find("inf"), std::string::npos);
}

// f"{now * 100 - before * 100:+.1f}pp"
TEST_F(Reports, RoundDriftsThatAreTies) {
  const struct {
    double now;
    double before;
    const char* drift;
  } cases[] = {{2, 47, "-93.7pp"}, {14, 47, "-68.7pp"}, {22, 1, "+43.7pp"}, {40, 1, "+81.3pp"}};
  for (const auto& [now, before, drift] : cases) {
    Write("1.json", Minimal("set", 1, before / 48));
    Write("2.json", Minimal("set", 2, now / 48));
    const json shown = json::parse(RunJson(*Find("2")))["regression"];
    EXPECT_EQ(shown["summary"][0]["value"], drift);
  }
}

TEST(Format, OfAges) {
  EXPECT_EQ(Ago(-5), "just now");
  EXPECT_EQ(Ago(59.9), "just now");
  EXPECT_EQ(Ago(60), "1m ago");
  EXPECT_EQ(Ago(3599), "59m ago");
  EXPECT_EQ(Ago(3600), "1h ago");
  EXPECT_EQ(Ago(86399), "23h ago");
  EXPECT_EQ(Ago(86400 * 3.5), "3d ago");
}

}  // namespace
}  // namespace agent_graph::evals
