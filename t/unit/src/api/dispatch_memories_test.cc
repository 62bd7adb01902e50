// Routes of memories: what the store is asked for, with the defaults of absent fields.
#include <cstring>

#include "../../engine/state/recorded_memories.h"
#include "dispatch_fixture.h"
#include "memory/memory_store.h"

namespace agent_graph::api {
namespace {

class MemoryRoutesTest : public DispatchTest {
 protected:
  MemoryRoutesTest()
      : embedder_(memory::MakeEmbedder({}, {}).value()), store_(memories_, *embedder_) {
    api_.memory = &store_;
  }

  json Search(const std::string& more) {
    return Send("POST", "/v1/store/search", R"({"query":"tea")" + more + "}").Data()["results"];
  }
  // The conditions of a filter as one text: "category=\"taste\" n=1".
  static std::string Conditions(const state::MemoryFilter& filter) {
    std::string text;
    for (const state::FieldEquals& equals : filter.equals) {
      text += (text.empty() ? "" : " ") + equals.key + "=" + equals.json;
    }
    return text;
  }

  state::RecordedMemories memories_;
  std::unique_ptr<memory::Embedder> embedder_;
  memory::MemoryStore store_;
};

TEST_F(MemoryRoutesTest, ASearchHasDefaults) {
  for (const char* more :
       {"",
        R"(,"limit":null,"max_tokens":null,"memory_type":null,"category":null,"filters":null,)"
        R"("retrieval_strategy":null,"distance_metric":null,"score_threshold":null)",
        R"(,"memory_type":"","category":" ","filters":{},"score_threshold":0)"}) {
    memories_.searched = {};
    memories_.searched.limit = 0;
    Search(more);
    EXPECT_EQ(memories_.searched.query, "") << "only rankings by words need it";
    EXPECT_EQ(memories_.searched.limit, 10u) << more;
    EXPECT_EQ(memories_.searched.ranking, state::Ranking::kVector);
    EXPECT_EQ(memories_.searched.metric, state::Metric::kCosine);
    EXPECT_FALSE(memories_.searched.score_min) << more;
    EXPECT_EQ(Conditions(memories_.searched.filter), "") << more;
  }
}

TEST_F(MemoryRoutesTest, ASearchPassesItsFieldsOn) {
  using state::Metric;
  using state::Ranking;
  Search(R"(,"limit":1,"score_threshold":-0.5,"memory_type":"entity","category":"taste",)"
         R"("filters":{"source":"chat","n":1.5,"flag":false},"config":{"agent_id":"helper"})");
  EXPECT_EQ(memories_.searched.limit, 1u);
  EXPECT_EQ(memories_.searched.score_min, -0.5);
  EXPECT_EQ(Conditions(memories_.searched.filter),
            R"(memory_type="entity" category="taste" source="chat" n=1.5 flag=false )"
            R"(agent_id="helper")");
  for (auto [limit, served] : {std::pair("1000", 1000u), {"1001", 1000u}, {"1000000000", 1000u}}) {
    Search(std::string(",\"limit\":") + limit);
    EXPECT_EQ(memories_.searched.limit, served);
  }
  ExpectInvalid(Send("POST", "/v1/store/search", R"({"query":"x","limit":1000000001})"),
                {"body", "limit"});
  for (auto [name, ranking] : {std::pair("similarity", Ranking::kVector),
                               {"temporal", Ranking::kNewest},
                               {"relevance", Ranking::kWords},
                               {"hybrid", Ranking::kHybrid},
                               {"graph_traversal", Ranking::kVector}}) {
    Search(std::string(",\"retrieval_strategy\":\"") + name + "\"");
    EXPECT_EQ(memories_.searched.ranking, ranking) << name;
  }
  for (auto [name, metric] : {std::pair("cosine", Metric::kCosine),
                              {"dot_product", Metric::kDotProduct},
                              {"euclidean", Metric::kEuclidean},
                              {"manhattan", Metric::kManhattan}}) {
    Search(std::string(",\"distance_metric\":\"") + name + "\"");
    EXPECT_EQ(memories_.searched.metric, metric) << name;
  }
}

// A token is estimated as four bytes.
TEST_F(MemoryRoutesTest, TheTextsOfASearchHaveFourThousandTokens) {
  state::MemoryHit hit;
  hit.memory.content = std::string(4000, 'x');
  memories_.found.hits.assign(4, hit);
  hit.memory.content = "tea";
  memories_.found.hits.push_back(hit);
  EXPECT_EQ(Search("").size(), 4u);
  EXPECT_EQ(Search(R"(,"max_tokens":null)").size(), 4u);
  EXPECT_EQ(Search(R"(,"max_tokens":4001)").size(), 5u);
  EXPECT_EQ(Search(R"(,"max_tokens":1)").at(0)["content"], "xxxx");
  ExpectInvalid(Send("POST", "/v1/store/search", R"({"query":"x","max_tokens":0})"),
                {"body", "max_tokens"});
}

TEST_F(MemoryRoutesTest, AListHasAHundredMemoriesByDefault) {
  for (const char* body : {"", "{}", R"({"limit":null,"cursor":null})"}) {
    memories_.listed = {};
    memories_.listed.limit = 0;
    const json data = Send("POST", "/v1/store/memories/list", body).Data();
    EXPECT_EQ(memories_.listed.limit, 100u) << body;
    EXPECT_EQ(memories_.listed.cursor, "");
    EXPECT_EQ(data, json::parse(R"({"memories":[],"next_cursor":null})"));
  }
  memories_.page.next_cursor = "behind";
  memories_.page.memories.resize(2);
  const json data = Send("POST", "/v1/store/memories/list",
                         R"({"limit":2,"cursor":"there","config":{"agent_id":"helper"}})")
                        .Data();
  EXPECT_EQ(data["memories"].size(), 2u);
  EXPECT_EQ(data["next_cursor"], "behind");
  EXPECT_EQ(memories_.listed.limit, 2u);
  EXPECT_EQ(memories_.listed.cursor, "there");
  EXPECT_EQ(Conditions(memories_.listed.filter), R"(agent_id="helper")");
  Send("POST", "/v1/store/memories/list", R"({"limit":1001})");
  EXPECT_EQ(memories_.listed.limit, 1000u);
  ExpectInvalid(
      Send("POST", "/v1/store/memories/list", R"({"cursor":")" + std::string(33, 'x') + "\"}"),
      {"body", "cursor"});
  EXPECT_EQ(Send("POST", "/v1/store/memories/list", R"({"cursor":")" + std::string(32, 'x') + "\"}")
                .status,
            200);
}

TEST_F(MemoryRoutesTest, AMemoryIsShownWithEveryFieldOfItsRecord) {
  memories_.record.id = "m1";
  memories_.record.owner = "alice";
  memories_.record.content = "tea";
  memories_.record.memory_type = "semantic";
  memories_.record.category = "taste";
  memories_.record.metadata_json = R"({"source":"chat"})";
  memories_.record.created_micros = 1781611200000000;
  memories_.record.updated_micros = 1781611200250000;
  EXPECT_EQ(Send("POST", "/v1/store/memories/m1").Data()["memory"], json::parse(R"({
      "id":"m1","memory_id":"m1","content":"tea","score":null,"memory_type":"semantic",
      "category":"taste","metadata":{"source":"chat","category":"taste"},"vector":[],
      "user_id":"alice","agent_id":null,"thread_id":null,
      "timestamp":"2026-06-16T12:00:00.000000Z","created_at":"2026-06-16T12:00:00.000000Z",
      "updated_at":"2026-06-16T12:00:00.250000Z"})"));
  EXPECT_EQ(memories_.named.id, "m1");
  EXPECT_EQ(memories_.named.agent_id, "");

  memories_.record.message_json = R"({"role":"user","content":[]})";
  memories_.record.metadata_json = "[1]";
  memories_.record.agent_id = "helper";
  memories_.record.thread_id = "t";
  const json memory =
      Send("POST", "/v1/store/memories/m1", R"({"config":{"agent_id":"helper"}})").Data()["memory"];
  EXPECT_EQ(memories_.named.agent_id, "helper");
  EXPECT_EQ(memory["content"], json::parse(R"({"role":"user","content":[]})"));
  EXPECT_EQ(memory["metadata"], json::parse(R"({"category":"taste"})"));
  EXPECT_EQ(memory["agent_id"], "helper");
  EXPECT_EQ(memory["thread_id"], "t");

  memories_.found.hits = {{memories_.record, 0.25}};
  EXPECT_EQ(Search("").at(0)["score"], 0.25);
}

TEST_F(MemoryRoutesTest, AStoredMemoryHasDefaults) {
  const json data =
      Send("POST", "/v1/store/memories",
           R"({"content":"tea","category":" ","config":{"agent_id":" ","thread_id":null}})")
          .Data();
  EXPECT_EQ(data["memory_id"], memories_.stored.record.id);
  EXPECT_EQ(memories_.stored.record.content, "tea");
  EXPECT_EQ(memories_.stored.record.memory_type, "episodic");
  EXPECT_EQ(memories_.stored.record.category, "general");
  EXPECT_EQ(memories_.stored.record.metadata_json, "{}");
  EXPECT_EQ(memories_.stored.record.message_json, "");
  EXPECT_EQ(memories_.stored.record.owner, "");
  EXPECT_EQ(memories_.stored.record.agent_id, "");
  EXPECT_EQ(memories_.stored.record.thread_id, "");
  EXPECT_EQ(memories_.stored.scope.kind, state::Scope::Kind::kAll);
}

TEST_F(MemoryRoutesTest, AMemoryIsStoredWithItsFields) {
  Send(
      "POST", "/v1/store/memories",
      R"({"content":"tea","memory_type":"semantic","metadata":{"category":"taste","source":"chat"},)"
      R"("config":{"agent_id":"helper","thread_id":17,"user_id":"alice"}})");
  const state::MemoryRecord record = memories_.stored.record;
  EXPECT_EQ(record.memory_type, "semantic");
  EXPECT_EQ(record.category, "taste");
  EXPECT_EQ(record.metadata_json, R"({"source":"chat"})");
  EXPECT_EQ(record.agent_id, "helper");
  EXPECT_EQ(record.thread_id, "17");
  EXPECT_EQ(record.owner, "alice");
  EXPECT_EQ(memories_.stored.scope.kind, state::Scope::Kind::kOwner);
  EXPECT_EQ(memories_.stored.scope.user_id, "alice");
  // The category of the body takes precedence over that of the metadata, which must be a text.
  Send("POST", "/v1/store/memories",
       R"({"content":"tea","category":"drinks","metadata":{"category":"taste"}})");
  EXPECT_EQ(memories_.stored.record.category, "drinks");
  Send("POST", "/v1/store/memories", R"({"content":"tea","metadata":{"category":5}})");
  EXPECT_EQ(memories_.stored.record.category, "general");
  EXPECT_EQ(memories_.stored.record.metadata_json, "{}");
}

TEST_F(MemoryRoutesTest, AMessageIsStoredWithItsText) {
  for (
      const char* content :
      {R"({"role":"assistant","content":[{"type":"text","text":"green "},{"type":"text","text":"tea"}]})",
       R"([{"type":"text","text":"green "},{"type":"text","text":"tea"}])"}) {
    Send("POST", "/v1/store/memories", R"({"content":)" + std::string(content) + "}");
    EXPECT_EQ(memories_.stored.record.content, "green \ntea");
    const json message = json::parse(memories_.stored.record.message_json);
    EXPECT_EQ(message["role"], content[0] == '{' ? "assistant" : "user");
    EXPECT_EQ(message["content"].size(), 2u);
  }
  // A message without text must hold something else.
  const std::string image =
      R"({"type":"image","media":{"kind":"url","url":"https://e.org/a.png"}})";
  EXPECT_EQ(Send("POST", "/v1/store/memories", R"({"content":[)" + image + "]}").status, 200);
  EXPECT_EQ(memories_.stored.record.content, "");
  ExpectInvalid(Send("POST", "/v1/store/memories", R"({"content":[{"type":"text","text":" "}]})"),
                {"body", "content"});
}

TEST_F(MemoryRoutesTest, ProblemsOfAContentAreNamed) {
  const auto store = [this](const std::string& content, const std::string& more = "") {
    return Send("POST", "/v1/store/memories", R"({"content":)" + content + more + "}");
  };
  const std::string url = R"([{"type":"text","text":"x"},{"type":"image","url":"file:///x"}])";
  ExpectInvalid(store("\" \""), {"body", "content"});
  ExpectInvalid(store("5"), {"body", "content"});
  ExpectInvalid(store(R"({"role":"king","content":"x"})"), {"body", "content", "role"});
  ExpectInvalid(store(url), {"body", "content", "1", "url"});
  ExpectInvalid(store(R"({"role":"user","content":)" + url + "}"),
                {"body", "content", "content", "1", "url"});
  ExpectInvalid(store("\"x\"", R"(,"config":{"agent_id":[]})"), {"body", "config", "agent_id"});
  const std::string longest(1024, 'i');
  EXPECT_EQ(store("\"x\"", R"(,"metadata":{"category":")" + longest + "\"}").status, 200);
  ExpectInvalid(store("\"x\"", R"(,"metadata":{"category":"i)" + longest + "\"}"),
                {"body", "metadata", "category"});
  EXPECT_EQ(store("\"x\"", R"(,"config":{"agent_id":")" + longest + "\"}").status, 200);
  ExpectInvalid(store("\"x\"", R"(,"config":{"agent_id":"i)" + longest + "\"}"),
                {"body", "config", "agent_id"});
}

TEST_F(MemoryRoutesTest, ContentsHaveTheSizeLimitOfMessages) {
  settings_.limits.message_bytes_max = 200;
  const auto status = [this](const std::string& method, const std::string& target,
                             const std::string& key, size_t bytes, const std::string& more = "") {
    return Send(method, target, "{\"" + key + "\":\"" + std::string(bytes, 'x') + "\"" + more + "}")
        .status;
  };
  EXPECT_EQ(status("POST", "/v1/store/memories", "content", 200), 200);
  EXPECT_EQ(status("POST", "/v1/store/memories", "content", 201), 422);
  EXPECT_EQ(status("PUT", "/v1/store/memories/m", "content", 200), 200);
  EXPECT_EQ(status("PUT", "/v1/store/memories/m", "content", 201), 422);
  EXPECT_EQ(status("POST", "/v1/store/search", "query", 200), 200);
  EXPECT_EQ(status("POST", "/v1/store/search", "query", 201), 422);
  const auto with_metadata = [&](size_t bytes) {
    const std::string metadata =
        json{{"m", std::string(bytes - std::strlen(R"({"m":""})"), 'x')}}.dump();
    return status("POST", "/v1/store/memories", "content", 1, ",\"metadata\":" + metadata);
  };
  EXPECT_EQ(with_metadata(200), 200);
  EXPECT_EQ(with_metadata(201), 422);
  const std::string blocks =
      R"({"content":[{"type":"text","text":")" + std::string(200, 'x') + "\"}]}";
  ExpectInvalid(Send("POST", "/v1/store/memories", blocks), {"body", "content"});
}

TEST_F(MemoryRoutesTest, AnUpdateMergesOrReplacesMetadata) {
  struct {
    const char* more;
    bool replace;
  } cases[] = {
      {"", false},
      {R"(,"options":{})", false},
      {R"(,"options":{"replace_metadata":null})", false},
      {R"(,"options":{"replace_metadata":"yes"})", false},
      {R"(,"options":{"replace_metadata":false})", false},
      {R"(,"options":{"replace_metadata":true})", true},
  };
  for (const auto& [more, replace] : cases) {
    const json data = Send("PUT", "/v1/store/memories/m1",
                           R"({"content":"coffee","metadata":{"a":null,"category":"taste"})" +
                               std::string(more) + "}")
                          .Data();
    EXPECT_EQ(data, json::parse(R"({"success":true,"data":true})"));
    EXPECT_EQ(memories_.updated.replace_metadata, replace) << more;
    EXPECT_EQ(memories_.updated.name.id, "m1");
    EXPECT_EQ(memories_.updated.content, "coffee");
    EXPECT_EQ(memories_.updated.category, "taste");
    EXPECT_EQ(memories_.updated.metadata_json, R"({"a":null})");
  }
  Send("PUT", "/v1/store/memories/m1", R"({"content":[{"type":"text","text":"tea"}]})");
  EXPECT_EQ(memories_.updated.category, std::nullopt);
  EXPECT_EQ(memories_.updated.content, "tea");
  EXPECT_NE(memories_.updated.message_json, "");
}

TEST_F(MemoryRoutesTest, DeletesAMemoryOrAllThatMatch) {
  EXPECT_EQ(Send("DELETE", "/v1/store/memories/m1", R"({"config":{"agent_id":"helper"}})").Data(),
            json::parse(R"({"success":true,"data":true})"));
  EXPECT_EQ(memories_.named.id, "m1");
  EXPECT_EQ(memories_.named.agent_id, "helper");
  memories_.page.memories.resize(3);
  const json data = Send("POST", "/v1/store/memories/forget",
                         R"({"category":"x","memory_type":"entity","filters":{"n":1}})")
                        .Data();
  EXPECT_EQ(data, json::parse(R"({"success":true,"data":{"deleted":3}})"));
  EXPECT_EQ(Conditions(memories_.removed.filter), R"(memory_type="entity" category="x" n=1)");
}

TEST_F(MemoryRoutesTest, ALostIdOfWhoseMemoriesToForgetIsRefused) {
  for (const char* key : {"agent_id", "user_id"}) {
    for (const char* lost : {"null", "\"\"", "\" \""}) {
      ExpectInvalid(Send("POST", "/v1/store/memories/forget",
                         std::string(R"({"config":{")") + key + "\":" + lost + "}}"),
                    {"body", "config", key});
    }
  }
  EXPECT_EQ(memories_.listed.limit, state::ListMemoriesRequest().limit) << "nothing was looked for";
}

TEST_F(MemoryRoutesTest, FailuresOfTheStoreAreAnswered) {
  for (auto [code, status] : {std::pair(StatusCode::kNotFound, 404),
                              {StatusCode::kUnavailable, 503},
                              {StatusCode::kResourceExhausted, 503}}) {
    memories_.failure = Status(code, "failed");
    EXPECT_EQ(Send("POST", "/v1/store/memories", R"({"content":"x"})").status, status);
    EXPECT_EQ(Send("POST", "/v1/store/search", R"({"query":"x"})").status, status);
    EXPECT_EQ(Send("POST", "/v1/store/memories/list").status, status);
    EXPECT_EQ(Send("POST", "/v1/store/memories/forget").status, status);
    EXPECT_EQ(Send("POST", "/v1/store/memories/m").status, status);
    EXPECT_EQ(Send("PUT", "/v1/store/memories/m", R"({"content":"x"})").status, status);
    EXPECT_EQ(Send("DELETE", "/v1/store/memories/m").status, status);
  }
}

TEST_F(MemoryRoutesTest, NeedAStoreAndAUsableId) {
  ExpectInvalid(Send("POST", "/v1/store/memories/%20"), {"path", "memory_id"});
  ExpectInvalid(Send("DELETE", "/v1/store/memories/%20"), {"path", "memory_id"});
  ExpectInvalid(Send("PUT", "/v1/store/memories/%20", R"({"content":"x"})"), {"path", "memory_id"});
  api_.memory = nullptr;
  const Answer answer = Send("POST", "/v1/store/search", R"({"query":"x"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.Json()["detail"], "store not configured");
}

}  // namespace
}  // namespace agent_graph::api
