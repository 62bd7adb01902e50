#include "api/routes.h"

#include <gtest/gtest.h>

#include "settings/facades.h"

namespace agent_graph::api {
namespace {

using Kind = RouteMatch::Kind;

constexpr ErrorRenderer kOwnErrors = ErrorReply;  // one of the overloads

struct Found {
  const char* method;
  const char* path;
  const char* pattern;
  std::vector<std::string> parameters;
};

class FoundRoutes : public testing::TestWithParam<Found> {};

TEST_P(FoundRoutes, MatchWithDecodedParameters) {
  RouteMatch match = MatchRoute({}, GetParam().method, GetParam().path);
  ASSERT_EQ(match.kind, Kind::kFound) << GetParam().path;
  EXPECT_EQ(Routes()[match.route].pattern, GetParam().pattern);
  EXPECT_EQ(match.path_parameters, GetParam().parameters);
  EXPECT_EQ(match.allow, "");
}

constexpr char kThread[] = "/v1/threads/{thread_id}";
constexpr char kState[] = "/v1/threads/{thread_id}/state";
constexpr char kMessage[] = "/v1/threads/{thread_id}/messages/{message_id}";

INSTANTIATE_TEST_SUITE_P(
    Table, FoundRoutes,
    testing::Values(Found{"GET", "/ping", "/ping", {}}, Found{"HEAD", "/ping", "/ping", {}},
                    Found{"GET", "/%70ing", "/ping", {}},
                    Found{"POST", "/v1/graph/invoke", "/v1/graph/invoke", {}},
                    Found{"POST", "//v1/graph/stream", "/v1/graph/stream", {}},
                    Found{"GET", "/v1/graph", "/v1/graph", {}},
                    Found{"GET", "/v1/graph:StateSchema", "/v1/graph:StateSchema", {}},
                    Found{"GET", "/v1/graph%3AStateSchema", "/v1/graph:StateSchema", {}},
                    Found{"GET", "/v1/threads", "/v1/threads", {}},
                    Found{"GET", "/v1/threads/a", kThread, {"a"}},
                    Found{"GET", "/v1/threads/007", kThread, {"007"}},
                    Found{"GET", "/v1/threads/a%2Fb", kThread, {"a/b"}},
                    Found{"GET", "/v1/threads/a%2fb%20c", kThread, {"a/b c"}},
                    Found{"GET", "/v1/threads/%C3%A9", kThread, {"\xc3\xa9"}},
                    Found{"GET", "/v1/threads/%2525", kThread, {"%25"}},
                    Found{"GET", "/v1/threads/a+b", kThread, {"a+b"}},
                    Found{"GET", "/v1/threads/...", kThread, {"..."}},
                    Found{"GET", "/v1/threads/a..b", kThread, {"a..b"}},
                    Found{"GET", "/v1/threads/state", kThread, {"state"}},
                    Found{"DELETE", "/v1/threads/a", kThread, {"a"}},
                    Found{"GET", "/v1/threads//state", kState, {""}},
                    Found{"PUT", "/v1/threads/%20/state", kState, {" "}},
                    Found{"DELETE", "/v1/threads/0/state", kState, {"0"}},
                    Found{"GET", "/v1/threads/t/messages/m", kMessage, {"t", "m"}},
                    Found{"DELETE", "/v1/threads/t%2Fu/messages/%20", kMessage, {"t/u", " "}},
                    Found{"GET", "/v1/threads//messages/m", kMessage, {"", "m"}}));

TEST(MatchRoute, FindsIdsOfAKilobyte) {
  std::string id(1024, 'x');
  RouteMatch match = MatchRoute({}, "GET", "/v1/threads/" + id);
  ASSERT_EQ(match.kind, Kind::kFound);
  EXPECT_EQ(match.path_parameters, std::vector<std::string>{id});
}

TEST(MatchRoute, FindsNoOtherPath) {
  for (const char* path : {"",
                           "/",
                           "//",
                           "ping",
                           "/Ping",
                           "///v1/graph",
                           "/ping//",
                           "/v1/graph//",
                           "/v1/threads//",
                           "/v1/threads/a//",
                           "/v1/threads/a/state//",
                           "/v1/files/",
                           "/v1",
                           "/v1/",
                           "/v1/threads/a/other",
                           "/v1/threads/.",
                           "/v1/threads/..",
                           "/v1/threads/%2e%2E/state",
                           "/v1/threads/./state",
                           "/v1/threads/a%2F..%2Fb",
                           "/v1/threads/..%2F",
                           "/v1/threads/%2F.",
                           "/v1/../ping",
                           "/v1/threads/%00",
                           "/v1/threads/a%",
                           "/v1/threads/a%4",
                           "/v1/threads/%zz",
                           "/v1/threads/a/messages/m/n",
                           "/a/b/c/d/e/f/g/h/i/j",
                           "/v1//threads"}) {
    EXPECT_EQ(MatchRoute({}, "GET", path).kind, Kind::kNotFound) << path;
  }
}

// The handler answers with what is wrong with the id, as it does for ids in bodies.
TEST(MatchRoute, LeadsIdsWithDotsOnlyToWritesThatCreateTheThread) {
  const std::string dots[] = {".", "..", "%2e%2E", "a%2F..%2Fb", "%2F.", ".%2Fa"};
  for (const std::string& id : dots) {
    const std::string thread = "/v1/threads/" + id;
    const RouteMatch state = MatchRoute({}, "PUT", thread + "/state");
    EXPECT_EQ(state.kind, Kind::kFound) << id;
    EXPECT_EQ(state.path_parameters.size(), 1u);
    EXPECT_EQ(MatchRoute({}, "POST", thread + "/messages").kind, Kind::kFound) << id;
    for (const char* method : {"GET", "HEAD", "DELETE", "POST", "PATCH"}) {
      EXPECT_EQ(MatchRoute({}, method, thread + "/state").kind, Kind::kNotFound) << method << id;
    }
    EXPECT_EQ(MatchRoute({}, "GET", thread).kind, Kind::kNotFound) << id;
    EXPECT_EQ(MatchRoute({}, "DELETE", thread + "/messages/m").kind, Kind::kNotFound) << id;
    EXPECT_EQ(MatchRoute({}, "PUT", "/v1/store/memories/" + id).kind, Kind::kNotFound) << id;
    EXPECT_EQ(MatchRoute({}, "PUT", "/v1/" + id + "/threads/t/state").kind, Kind::kNotFound) << id;
  }
}

// Clients and proxies append one; it has no meaning.
TEST(MatchRoute, AllowsOneSlashAtTheEnd) {
  for (const Route& route : Routes()) {
    std::string path(route.pattern);
    for (size_t at = path.find('{'); at != std::string::npos; at = path.find('{')) {
      path.replace(at, path.find('}') - at + 1, "7");
    }
    const char* const methods[] = {"GET", "POST", "PUT", "DELETE"};
    const char* const method = methods[static_cast<size_t>(route.method)];
    const RouteMatch plain = MatchRoute({}, method, path);
    const RouteMatch slashed = MatchRoute({}, method, path + "/");
    ASSERT_EQ(slashed.kind, Kind::kFound) << path;
    EXPECT_EQ(slashed.route, plain.route) << path;
    EXPECT_EQ(slashed.path_parameters, plain.path_parameters) << path;
    EXPECT_TRUE(slashed.trailing_slash);
    EXPECT_FALSE(plain.trailing_slash);
  }
  EXPECT_EQ(Routes()[MatchRoute({}, "GET", "/v1/threads/").route].pattern, "/v1/threads");
  EXPECT_EQ(MatchRoute({}, "DELETE", "/v1/threads/").kind, Kind::kMethodNotAllowed)
      << "no thread of an empty id";
  EXPECT_EQ(MatchRoute({}, "GET", "/v1/threads//state/").path_parameters,
            std::vector<std::string>{""});
}

TEST(MatchRoute, ListsTheMethodsOfAPath) {
  struct {
    const char* method;
    const char* path;
    const char* allow;
  } cases[] = {
      {"POST", "/v1/threads", "GET, HEAD, OPTIONS"},
      {"POST", "/ping", "GET, HEAD, OPTIONS"},
      {"GET", "/v1/graph/invoke", "POST, OPTIONS"},
      {"HEAD", "/v1/graph/stream", "POST, OPTIONS"},
      {"PATCH", "/v1/threads/a", "GET, HEAD, DELETE, OPTIONS"},
      {"POST", "/v1/threads/a/state", "GET, HEAD, PUT, DELETE, OPTIONS"},
      {"PUT", "/v1/threads/a/messages", "GET, HEAD, POST, OPTIONS"},
      {"get", "/v1/graph", "GET, HEAD, OPTIONS"},
  };
  for (const auto& [method, path, allow] : cases) {
    RouteMatch match = MatchRoute({}, method, path);
    EXPECT_EQ(match.kind, Kind::kMethodNotAllowed) << method << " " << path;
    EXPECT_EQ(match.allow, allow);
  }
}

// Settings with the OpenAI façade at this path.
settings::FacadesSettings OpenAiAt(const char* path) {
  settings::FacadesSettings facades;
  facades.openai.facade.path = path;
  return facades;
}

TEST(MatchRoute, FindsTheRoutesOfAFacadeBelowItsPath) {
  const settings::FacadesSettings moved = OpenAiAt("/v1");
  const RouteMatch there = MatchRoute(moved, "GET", "/v1/models/org%2Fm");
  ASSERT_EQ(there.kind, Kind::kFound);
  EXPECT_EQ(Routes()[there.route].pattern, "/openai/v1/models/{model}");
  EXPECT_EQ(there.path_parameters, std::vector<std::string>{"org/m"});
  EXPECT_EQ(MatchRoute(moved, "GET", "//v1/models").kind, Kind::kFound);
  EXPECT_EQ(MatchRoute(moved, "GET", "/openai/v1/models").kind, Kind::kNotFound);
  EXPECT_EQ(MatchRoute(moved, "GET", "/v1/graph").kind, Kind::kFound);
  EXPECT_EQ(Routes()[MatchRoute(moved, "GET", "/v1/graph").route].pattern, "/v1/graph");
  EXPECT_EQ(MatchRoute({}, "GET", "/openai/v1models").kind, Kind::kNotFound);
  EXPECT_EQ(MatchRoute({}, "DELETE", "/openai/v1/models").allow, "GET, HEAD, OPTIONS");
}

TEST(MatchRoute, FindsNoRouteOfADisabledFacade) {
  settings::FacadesSettings off;
  off.openai.facade.enabled = false;
  EXPECT_EQ(MatchRoute(off, "GET", "/openai/v1/models").kind, Kind::kNotFound);
  EXPECT_EQ(RendererOf(off, "/openai/v1/models"), kOwnErrors);
}

TEST(RendererOf, IsThatOfTheFacadeBelowItsPathOnly) {
  EXPECT_NE(RendererOf({}, "/openai/v1/unknown"), kOwnErrors);
  EXPECT_EQ(RendererOf({}, "/openai"), kOwnErrors);
  EXPECT_EQ(RendererOf({}, "/v1/unknown"), kOwnErrors);
  const settings::FacadesSettings moved = OpenAiAt("/v1");
  EXPECT_NE(RendererOf(moved, "/v1/unknown"), kOwnErrors);
  EXPECT_EQ(RendererOf(moved, "/v1/threads/a/state"), kOwnErrors);
}

TEST(CheckFacadePaths, RefusesAPathThatLeadsElsewhere) {
  EXPECT_TRUE(CheckFacadePaths({}).ok());
  EXPECT_TRUE(CheckFacadePaths(OpenAiAt("/v1")).ok());
  EXPECT_EQ(CheckFacadePaths(OpenAiAt("/v1/threads")).message(),
            "facades.openai.path: \"/v1/threads\" leads GET /v1/threads/models to another route; "
            "choose another path");
}

TEST(Routes, HaveAHandlerUnlessNative) {
  for (const Route& route : Routes()) {
    EXPECT_EQ(route.handler == nullptr, route.native) << route.pattern;
    EXPECT_FALSE(route.summary.empty()) << route.pattern;
  }
}

TEST(Routes, ArePublicOnlyIfListedHere) {
  std::vector<std::string_view> open;
  for (const Route& route : Routes()) {
    if (route.access == Access::kPublic) open.push_back(route.pattern);
  }
  EXPECT_EQ(open, (std::vector<std::string_view>{"/ping", "/ready", "/v1/evals/runs",
                                                 "/v1/evals/runs/{run_id}",
                                                 "/mcp/.well-known/oauth-protected-resource"}));
}

TEST(Facades, AreOffInProductionByDefault) {
  settings::Settings settings;
  settings.mode = settings::Mode::kProduction;
  settings::ApplyModeToFacades(settings);
  for (const FacadeTable& table : Facades()) {
    EXPECT_FALSE(table.settings(settings.facades).enabled) << table.name;
  }
}

TEST(CheckRouteGuards, AcceptsTheTable) {
  EXPECT_TRUE(CheckRouteGuards().ok());
}

TEST(CheckRouteGuards, ListsRoutesWithoutAPermission) {
  const Route routes[] = {
      {.method = Method::kGet, .pattern = "/ping", .access = Access::kPublic, .summary = ""},
      {.method = Method::kGet, .pattern = "/docs", .access = Access::kDocumentation, .summary = ""},
      {.method = Method::kPost,
       .pattern = "/good",
       .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
       .summary = ""},
      {.method = Method::kGet, .pattern = "/none", .summary = ""},
      {.method = Method::kPut,
       .pattern = "/half",
       .permission = {.resource = auth::Resource::kGraph},
       .summary = ""},
  };
  EXPECT_EQ(CheckRouteGuards(routes).message(),
            "routes without a permission guard: GET /none, PUT /half");
}

}  // namespace
}  // namespace agent_graph::api
