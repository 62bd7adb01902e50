// The config of a run: what the graph gets of the client's, and what the server puts in.
#include "api/resources/run_request.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::api {
namespace {

json ConfigOf(const char* config, const Caller& caller = {}) {
  const json client = json::parse(config);
  return *GraphConfig(client.is_null() ? nullptr : &client, caller);
}

TEST(GraphConfig, KeysOfTheServerCannotBeForged) {
  Caller caller;
  caller.user_id = "alice";
  caller.user = std::make_shared<const json>(json{{"user_id", "alice"}, {"role", "admin"}});
  EXPECT_EQ(ConfigOf(R"({"tone":"dry","thread_id":"t","user":{"user_id":"forged"},
                         "user_id":"forged","authz":{"scope":"none"},"_internal":1,"__x":2,
                         "users":["kept"],"user_":1,"a_b":3})",
                     caller),
            json({{"tone", "dry"},
                  {"thread_id", "t"},
                  {"users", {"kept"}},
                  {"user_", 1},
                  {"a_b", 3},
                  {"user_id", "alice"}}));
}

TEST(GraphConfig, WithoutACallerTheUserIsAnonymous) {
  for (const char* config : {"null", "{}", "[1]", "\"text\"", R"({"user_id":"forged"})"}) {
    EXPECT_EQ(ConfigOf(config), json({{"user_id", "anonymous"}})) << config;
  }
}

}  // namespace
}  // namespace agent_graph::api
