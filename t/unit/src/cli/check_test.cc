#include "cli/json_place.h"
#include "command_fixture.h"

namespace agent_graph::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kGraph[] = R"({
  "app": {
    "nodes": [{"name": "MAIN", "type": "agent"}],
    "edges": [{"from": "START", "to": "MAIN"}]
  }
}
)";

TEST(JsonPlace, FollowsAPath) {
  const std::string text = R"({"a": {"b.c": [1, {"d": "x"}]}, "e": 2})";
  const auto at = [&](const char* path) { return PlaceOf(text, path); };
  EXPECT_EQ(at("a"), text.find("\"a\""));
  EXPECT_EQ(at("a.b.c"), text.find("\"b.c\""));
  EXPECT_EQ(at("a.b.c.0"), text.find("1"));
  EXPECT_EQ(at("a.b.c.1.d"), text.find("\"d\""));
  EXPECT_EQ(at("e"), text.find("\"e\""));
  EXPECT_EQ(at("a.b.c.1.missing"), text.find("{\"d\""));
  EXPECT_EQ(at("a.b.c.7"), text.find("\"b.c\""));
  EXPECT_EQ(at("missing"), std::nullopt);
  EXPECT_EQ(PlaceOf(R"({"x": "a \" } ]", "y": {}})", "y"), 18u);
  EXPECT_EQ(PlaceOf("[]", "0"), std::nullopt);
  EXPECT_EQ(PlaceOf("{}", "a"), std::nullopt);
  EXPECT_EQ(PlaceOf("3", "a"), std::nullopt);
}

class Check : public CommandTest {};

TEST_F(Check, AcceptsAService) {
  Write("graph.json", kGraph);
  const std::string file = Write("service.json", R"({"agent": "graph.json:app"})");
  for (const std::string& name : {file, folder_}) {
    const Ran ran = Call({"check", name});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("service.json: the service and its graph"));
  }
}

TEST_F(Check, AcceptsAGraph) {
  const std::string file = Write("graph.json", kGraph);
  EXPECT_THAT(Call({"check", file}).out, HasSubstr("the graph app is fine: 1 nodes"));
  EXPECT_EQ(Call({"check", file + ":app"}).code, 0);
  const Ran other = Call({"check", file + ":other"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("other"));
}

TEST_F(Check, ShowsWhereAGraphIsWrong) {
  const std::string file = Write("graph.json", R"({
  "app": {
    "nodes": [{"name": "MAIN", "type": "agent", "tool_node": "TOLS"}],
    "edges": [{"from": "START", "to": "MAIN"}]
  }
}
)");
  const Ran ran = Call({"check", file});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr(file + ":3:49: app.nodes.0.tool_node: there is no node \"TOLS\""));
  // The same mistake, found from service.json.
  const std::string service = Write("service.json", R"({"agent": "graph.json:app"})");
  EXPECT_THAT(Call({"check", service}).err, HasSubstr("graph.json:3:49: app.nodes.0.tool_node"));
}

TEST_F(Check, ShowsWhereAServiceIsWrong) {
  Write("graph.json", kGraph);
  const std::string file = Write("service.json", R"({
  "agent": "graph.json:app",
  "models": {"default": {"provider": "openai"}}
}
)");
  EXPECT_THAT(Call({"check", file}).err, HasSubstr(file + ":3:14: models.default: needs the name"));
  Write("service.json", R"({"agent": "graph.json:app", "nonsense": 1})");
  EXPECT_THAT(Call({"check", file}).err, HasSubstr(file + ":1:29: nonsense: "));
}

TEST_F(Check, ShowsWhereTheTextIsNoJson) {
  const std::string file = Write("service.json", "{\n  \"agent\" 1\n}");
  EXPECT_THAT(Call({"check", file}).err, HasSubstr(file + ":2:"));
}

TEST_F(Check, SaysWhatAFileIs) {
  EXPECT_THAT(Call({"check", folder_ + "/nowhere.json"}).err, HasSubstr("does not exist"));
  EXPECT_THAT(Call({"check", Write("a.cc", "")}).err, HasSubstr("is source code; compile it"));
  EXPECT_THAT(Call({"check", Write("a.txt", "")}).err, HasSubstr("neither a .json file"));
  EXPECT_THAT(Call({"check", Write("a.json", "{}")}).err, HasSubstr("is neither a service.json"));
  EXPECT_THAT(Call({"check", Write("a.so", "x")}).err, HasSubstr("is not a shared object"));
}

}  // namespace
}  // namespace agent_graph::cli
