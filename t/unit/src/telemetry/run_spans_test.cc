// Converts a run's log to spans, and spans to the JSON of OTLP.
#include "telemetry/run_spans.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "telemetry/otlp_json.h"
#include "telemetry/trace_context.h"

namespace agent_graph::telemetry {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kParent[] = "00f067aa0ba902b7";

run::RunRecord Record(std::vector<state::LogEntry> entries) {
  run::RunRecord record;
  record.thread_id = "t";
  record.run_id = "r";
  record.graph_name = "support";
  record.status = run::RunStatus::kDone;
  record.started_micros = 1'000;
  record.finished_micros = 9'000;
  record.entries = std::move(entries);
  return record;
}

AttributeValue At(const Span& span, const std::string& key) {
  for (const auto& [name, value] : span.attributes) {
    if (name == key) return value;
  }
  return std::string("(none)");
}

TEST(RunSpansTest, ToolsHaveTheirOwnTimesAndEndsInAnyOrder) {
  const std::vector<Span> spans =
      SpansOf(Record({{"node_started", R"({"node":"TOOLS","step":1})", 2'000},
                      {"tool_started", R"({"tool":"a","call_id":"1","micros":2100})", 5'000},
                      {"tool_finished", R"({"call_id":"1","is_error":false,"micros":4900})", 5'000},
                      {"tool_started", R"({"tool":"b","call_id":"2","micros":2200})", 5'000},
                      {"tool_finished", R"({"call_id":"2","is_error":true,"micros":3000})", 5'000},
                      {"node_finished", R"({"node":"TOOLS","step":1})", 5'100}}),
              {});
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[2].start_micros, 2'100);
  EXPECT_EQ(spans[2].end_micros, 4'900);
  EXPECT_FALSE(spans[2].failed);
  EXPECT_EQ(spans[3].end_micros, 3'000);
  EXPECT_TRUE(spans[3].failed);
  EXPECT_EQ(spans[3].parent_id, spans[1].span_id);
  EXPECT_EQ(spans[1].end_micros, 5'100);
}

TEST(RunSpansTest, AToolWithTheDeepestOutputEnds) {
  const std::string output = std::string(128, '[') + std::string(128, ']');
  const std::vector<Span> spans = SpansOf(
      Record(
          {{"tool_started", R"({"tool":"a","call_id":"1","micros":2100})", 5'000},
           {"tool_finished", R"({"call_id":"1","micros":4900,"output":)" + output + "}", 5'000}}),
      {});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].end_micros, 4'900);
}

TEST(RunSpansTest, OpenSpansEndWithTheRun) {
  const std::vector<Span> spans =
      SpansOf(Record({{"node_started", R"({"node":"A","step":1})", 2'000}}), {});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].end_micros, 9'000);
  EXPECT_EQ(std::get<std::string>(At(spans[1], "agent_graph.node.name")), "A");
}

TEST(RunSpansTest, UnreadableEntriesAreLeftOut) {
  EXPECT_EQ(SpansOf(Record({{"node_started", "{", 1},
                            {"tool_finished", "[]", 1},
                            {"tool_finished", R"({"call_id":"lost"})", 1},
                            {"new_kind", "{}", 1}}),
                    {})
                .size(),
            1u);
}

TEST(RunSpansTest, AModelIsNamedAsItsProviderDoes) {
  const ModelIdentities models = {{"default", {"gcp.gemini", "flash"}}};
  const std::vector<Span> spans =
      SpansOf(Record({{"model_finished",
                       R"({"model_name":"default","model":"flash-001","duration_micros":300,
                   "stop_reason":"stop","input_tokens":3,"output_tokens":4})",
                       5'000}}),
              models);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].name, "chat flash");
  EXPECT_EQ(spans[1].start_micros, 4'700);
  EXPECT_EQ(std::get<std::string>(At(spans[1], "gen_ai.provider.name")), "gcp.gemini");
  EXPECT_EQ(std::get<std::string>(At(spans[1], "gen_ai.response.model")), "flash-001");
  EXPECT_EQ(std::get<int64_t>(At(spans[0], "gen_ai.usage.output_tokens")), 4);
}

TEST(RunSpansTest, ATraceThatIsNotSampledIsNotExported) {
  run::RunRecord record = Record({});
  record.trace_parent = std::string("00-") + kTrace + "-" + kParent + "-00";
  EXPECT_TRUE(SpansOf(record, {}).empty());
  record.trace_parent.back() = '1';
  const std::vector<Span> spans = SpansOf(record, {});
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].trace_id, kTrace);
  EXPECT_EQ(spans[0].parent_id, kParent);
}

TEST(TraceParentTest, TakesWhatTheRecommendationAllows) {
  const std::string good = std::string("00-") + kTrace + "-" + kParent + "-01";
  ASSERT_TRUE(ParseTraceParent(good).has_value());
  EXPECT_TRUE(ParseTraceParent(good)->sampled);
  EXPECT_TRUE(ParseTraceParent("cc" + good.substr(2) + "-more").has_value());
  for (const std::string& bad :
       {std::string(), std::string("00"), "ff" + good.substr(2), good + "-more", good + "x",
        good.substr(0, 54), "00-" + std::string(32, '0') + "-" + kParent + "-01",
        std::string("00-") + kTrace + "-" + std::string(16, '0') + "-01",
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-") + kParent + "-01"}) {
    EXPECT_FALSE(ParseTraceParent(bad).has_value()) << bad;
  }
}

TEST(OtlpJsonTest, IsTheMappingOfProtocolBuffers) {
  Span span;
  span.trace_id = kTrace;
  span.span_id = kParent;
  span.name = "chat \"x\"\n";
  span.kind = SpanKind::kClient;
  span.start_micros = 1'781'611'200'000'001;
  span.end_micros = 1'781'611'200'000'002;
  span.attributes = {{"text", std::string("a")},
                     {"number", int64_t{-5}},
                     {"flag", true},
                     {"list", std::vector<std::string>{"x", "y"}}};
  span.failed = true;
  span.error = "no";
  const json request = json::parse(ExportRequestJson({{"service.name", std::string("s")}}, {span}));
  const json& resource = request["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "s");
  const json& written = resource["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(written["traceId"], kTrace);
  EXPECT_FALSE(written.contains("parentSpanId"));
  EXPECT_EQ(written["kind"], 3);
  EXPECT_EQ(written["startTimeUnixNano"], "1781611200000001000");
  EXPECT_EQ(written["attributes"][1]["value"]["intValue"], "-5");
  EXPECT_EQ(written["attributes"][2]["value"]["boolValue"], true);
  EXPECT_EQ(written["attributes"][3]["value"]["arrayValue"]["values"][1]["stringValue"], "y");
  EXPECT_EQ(written["status"], json({{"code", 2}, {"message", "no"}}));
}

}  // namespace
}  // namespace agent_graph::telemetry
