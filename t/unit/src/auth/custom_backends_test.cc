// The guard with authentication and authorization in users' own code.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "auth/guard.h"
#include "guard_fixture.h"
#include "owners.h"

namespace agent_graph::auth {
namespace {

using Policy = settings::AuthorizationSettings::Policy;

class CustomBackends : public GuardTest {
 protected:
  CustomBackends() {
    EXPECT_TRUE(runtime_.Start().ok());
    settings_.authentication.method = AuthenticationSettings::Method::kCustom;
    settings_.authentication.backend = Export("ByHeader");
    head_.peer_address = "192.0.2.7";
    head_.query = "a=b";
  }
  ~CustomBackends() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  static settings::ExportSettings Export(const std::string& attribute) {
    return {std::string(AGENT_GRAPH_TEST_GRAPHS) + "/auth_backends.so", attribute};
  }
  void AuthorizeBy(const std::string& attribute) {
    settings_.authorization.policy = Policy::kCustom;
    settings_.authorization.backend = Export(attribute);
  }
  // A request by `user`, whose header makes the backend do `what`.
  GuardOutcome Ask(const std::string& user, const std::string& what,
                   Permission permission = {Resource::kGraph, Action::kRead},
                   const std::string& id = "") {
    head_.headers = {{"x-user", user}, {"x-do", what}, {"authorization", "Bearer tok"}};
    return Check(nullptr, permission, id);
  }
};

TEST_F(CustomBackends, SeeTheRequestAndMakeTheUser) {
  GuardOutcome outcome = Ask("carol", "");
  ASSERT_FALSE(outcome.refusal.has_value()) << outcome.refusal->message;
  EXPECT_EQ(outcome.caller.user_id, "carol");
  EXPECT_EQ((*outcome.caller.user),
            json({{"user_id", "carol"},
                  {"credential", "tok"},
                  {"method", "GET"},
                  {"path", "/v1/x"},
                  {"query", "a=b"},
                  {"peer", "192.0.2.7"},
                  {"websocket", false},
                  {"authz", {{"user_id", "carol"}, {"scope", "none"}, {"scopes", nullptr}}}}));
  EXPECT_EQ(outcome.headers, (bridge::HeaderList{{"X-Backend", "seen"}}));
}

TEST_F(CustomBackends, RefuseInTheirOwnWay) {
  GuardOutcome outcome = Ask("carol", "account");
  EXPECT_EQ(outcome.refusal->kind, Kind::kAccount);
  EXPECT_EQ(outcome.refusal->code, "LOCKED");
  EXPECT_EQ(outcome.refusal->message, "unauthorized: the account is locked");
  EXPECT_EQ(outcome.headers.size(), 1u);
  outcome = Ask("carol", "http");
  EXPECT_EQ(outcome.refusal->kind, Kind::kHttp);
  EXPECT_EQ(outcome.refusal->status, 401);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CustomBackends, DenyAccessWhenTheyFail) {
  for (const char* what : {"throw", "throw-int", "array", "bad-status"}) {
    GuardOutcome outcome = Ask("carol", what);
    ASSERT_TRUE(outcome.refusal.has_value()) << what;
    EXPECT_EQ(outcome.refusal->kind, Kind::kInternal) << what;
    EXPECT_EQ(outcome.refusal->message, "") << what;
  }
  EXPECT_EQ(warnings_.size(), 4u);
}

TEST_F(CustomBackends, AnAnonymousRequestIsRefusedByThePolicies) {
  for (Policy policy : {Policy::kAllowAll, Policy::kOwnership}) {
    settings_.authorization.policy = policy;
    guard_.reset();
    EXPECT_EQ(ResultOf(Ask("", "null")), "Not authorized to read graph");
    EXPECT_EQ(ResultOf(Ask("", "empty")), "Not authorized to read graph");
  }
}

TEST_F(CustomBackends, AHeaderThatEndsItsLineIsDropped) {
  GuardOutcome outcome = Ask("carol", "split");
  EXPECT_FALSE(outcome.refusal.has_value());
  EXPECT_EQ(outcome.headers, (bridge::HeaderList{{"X-Backend", "seen"}}));
}

TEST_F(CustomBackends, MayAuthorize) {
  AuthorizeBy("ByUser");
  EXPECT_EQ(ResultOf(Ask("graph:read:-", "")), "owner graph:read:-");
  EXPECT_EQ(ResultOf(Ask("graph:read:t", "", {Resource::kGraph, Action::kRead}, "t")),
            "owner graph:read:t");
  EXPECT_EQ(ResultOf(Ask("somebody", "")), "Not authorized to read graph");
  EXPECT_EQ(ResultOf(Ask("thrower", "")), "Not authorized to read graph");
  EXPECT_EQ(ResultOf(Ask("anybody", "scopes", {Resource::kGraph, Action::kStop})),
            "Missing required scope: graph:stop");
  EXPECT_EQ(ResultOf(Ask("configured", "", {Resource::kGraph, Action::kInvoke})),
            "Not authorized to invoke graph");
}

TEST_F(CustomBackends, AreAskedAgainAboutTheBodysThread) {
  AuthorizeBy("ByUser");
  GuardOutcome outcome = Ask("anybody", "", {Resource::kGraph, Action::kInvoke});
  ASSERT_FALSE(outcome.refusal.has_value());
  GuardRequest request{head_, cancellation_, {Resource::kGraph, Action::kInvoke}};
  EXPECT_FALSE(guard_->CheckThread(request, json::object(), "t", outcome.caller));
  outcome.caller.user = std::make_shared<const json>(json::parse(R"({"user_id":"configured"})"));
  EXPECT_FALSE(guard_->CheckThread(request, {{"pass", true}}, "t", outcome.caller));
  EXPECT_TRUE(guard_->CheckThread(request, {{"pass", false}}, "t", outcome.caller));
  outcome.caller.user =
      std::make_shared<const json>(json::parse(R"({"user_id":"graph:invoke:mine"})"));
  EXPECT_FALSE(guard_->CheckThread(request, json::object(), "mine", outcome.caller));
  EXPECT_TRUE(guard_->CheckThread(request, json::object(), "t", outcome.caller));
}

// There would be no owner to which the rows could be limited.
TEST_F(CustomBackends, AnonymousCallersCannotAccessOwnedRows) {
  AuthorizeBy("ByUser");
  EXPECT_EQ(ResultOf(Ask("", "null")), "owner ");
  EXPECT_EQ(ResultOf(Ask("", "null", {Resource::kConfig, Action::kRead})), "owner ");
  EXPECT_EQ(ResultOf(Ask("", "null", {Resource::kCheckpointer, Action::kRead})),
            "Not authorized to read checkpointer");
  EXPECT_EQ(ResultOf(Ask("", "null", {Resource::kGraph, Action::kInvoke})),
            "Not authorized to invoke graph");
  EXPECT_EQ(ResultOf(Ask("", "null", {Resource::kStore, Action::kRead})),
            "Not authorized to read store");
  EXPECT_EQ(ResultOf(Ask("", "null", {Resource::kGraph, Action::kRead}, "t")),
            "Not authorized to read graph");
}

TEST_F(CustomBackends, SetScopesAndIsolation) {
  AuthorizeBy("Open");
  GuardOutcome outcome = Ask("carol", "");
  EXPECT_EQ(ResultOf(outcome), "all");
  EXPECT_EQ(
      (*outcome.caller.user)["authz"],
      json({{"user_id", "carol"}, {"scope", "none"}, {"scopes", {"graph:read", "store:read"}}}));
  EXPECT_EQ(ResultOf(Ask("carol", "", {Resource::kGraph, Action::kInvoke})),
            "Missing required scope: graph:invoke");
}

TEST_F(CustomBackends, TheSampleKnowsTheKeysOfItsFile) {
  namespace files = std::filesystem;
  files::path directory = ::testing::TempDir() + "api_keys" + std::to_string(getpid());
  files::create_directories(directory);
  files::copy(std::string(AGENT_GRAPH_SAMPLE_AUTH) + "/api_keys.so", directory / "api_keys.so",
              files::copy_options::overwrite_existing);
  std::ofstream(directory / "api_keys.txt")
      << "# comment\nk1 alice\nk2 bob graph:read,store:read\n";
  settings_.authentication.backend = {(directory / "api_keys.so").string(), "ApiKeys"};
  auto check = [&](bridge::HeaderList headers) {
    head_.headers = std::move(headers);
    return Check(nullptr, {Resource::kGraph, Action::kInvoke});
  };
  EXPECT_EQ(check({{"x-api-key", "k1"}}).caller.user_id, "alice");
  EXPECT_EQ(check({{"authorization", "Bearer k1"}}).caller.user_id, "alice");
  EXPECT_EQ(ResultOf(check({{"x-api-key", "k2"}})), "Missing required scope: graph:invoke");
  EXPECT_EQ(check({{"x-api-key", "k3"}}).refusal->code, "INVALID_API_KEY");
  EXPECT_EQ(check({{"x-api-key", "#"}}).refusal->code, "INVALID_API_KEY");
  EXPECT_EQ(check({}).refusal->status, 401);
  files::remove_all(directory);
}

TEST_F(CustomBackends, FailToLoadWithAClearMessage) {
  auto failure = [&](const settings::ExportSettings& source) {
    settings_.authentication.backend = source;
    return Guard::Create(settings_, {}).status().message();
  };
  std::string library = Export("x").module;
  EXPECT_EQ(failure(Export("Missing")),
            "auth.path: " + library +
                ": exports no \"Missing\": it needs AGENT_GRAPH_EXPORT_AUTHENTICATION(Missing, "
                "YourClass)");
  EXPECT_EQ(failure(Export("NeverMade")),
            "auth.path: " + library + ": \"NeverMade\" cannot be created: no key file");
  EXPECT_TRUE(failure({"/nonexistent.so", "X"})
                  .starts_with("auth.path: /nonexistent.so: cannot be loaded: "));
  settings_.authentication.backend = Export("ByHeader");
  AuthorizeBy("ByHeader");
  EXPECT_TRUE(Guard::Create(settings_, {})
                  .status()
                  .message()
                  .starts_with("authorization: " + library + ": exports no \"ByHeader\""));
}

}  // namespace
}  // namespace agent_graph::auth
