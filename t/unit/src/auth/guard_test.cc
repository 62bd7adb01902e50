#include "auth/guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "auth/jwt.h"
#include "base/clock.h"
#include "owners.h"
#include "runtime/runtime.h"
#include "tokens.h"

namespace agent_graph::auth {
namespace {

using settings::AuthenticationSettings;
using settings::AuthorizationSettings;
using Policy = AuthorizationSettings::Policy;
using Kind = Refusal::Kind;

constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";
constexpr Permission kPermissions[] = {
    {Resource::kGraph, Action::kInvoke},        {Resource::kGraph, Action::kStream},
    {Resource::kGraph, Action::kStop},          {Resource::kGraph, Action::kFix},
    {Resource::kGraph, Action::kSetup},         {Resource::kGraph, Action::kRead},
    {Resource::kCheckpointer, Action::kRead},   {Resource::kCheckpointer, Action::kWrite},
    {Resource::kCheckpointer, Action::kDelete}, {Resource::kStore, Action::kRead},
    {Resource::kStore, Action::kWrite},         {Resource::kStore, Action::kDelete},
    {Resource::kFiles, Action::kUpload},        {Resource::kFiles, Action::kRead},
    {Resource::kConfig, Action::kRead}};

std::string Token(const json& claims) {
  json all = {{"user_id", "alice"}, {"exp", UnixSeconds() + 1000}};
  all.update(claims);
  return testing::HmacToken(all, kSecret);
}

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    settings_.authentication.method = AuthenticationSettings::Method::kJwt;
    settings_.authentication.jwt.algorithm = "HS256";
    settings_.authentication.jwt.secret = kSecret;
    head_.method = "GET";
    head_.path = "/v1/x";
    head_.request_id = "r-1";
  }

  Guard& Make() {
    GuardOptions options;
    options.read_thread = state_.Reader();
    options.runtime = &runtime_;
    options.warn = [this](const std::string& line) { warnings_.push_back(line); };
    Result<std::unique_ptr<Guard>> guard = Guard::Create(settings_, std::move(options));
    EXPECT_TRUE(guard.ok()) << guard.status().ToString();
    guard_ = std::move(guard).value();
    return *guard_;
  }

  GuardOutcome Check(const json& claims, Permission permission, const std::string& id = "",
                     bool websocket = false) {
    if (guard_ == nullptr) Make();
    if (!claims.is_null()) head_.headers = {{"authorization", "Bearer " + Token(claims)}};
    return guard_->Check({head_, cancellation_, permission, id, websocket});
  }

  // The text of the refusal, or the caller's scope.
  static std::string ResultOf(const GuardOutcome& outcome) {
    if (outcome.refusal) return outcome.refusal->message;
    bool all = outcome.caller.scope.kind == state::Scope::Kind::kAll;
    return all ? "all" : "owner " + outcome.caller.scope.user_id;
  }

  runtime::Runtime runtime_{{}};
  settings::Settings settings_;
  testing::Owners state_;
  bridge::RequestHead head_;
  runtime::Cancellation cancellation_;
  std::vector<std::string> warnings_;
  std::unique_ptr<Guard> guard_;
};

TEST_F(GuardTest, ChecksNoRequestWithoutAuthentication) {
  settings_.authentication.method = AuthenticationSettings::Method::kNone;
  settings_.authorization.policy = Policy::kOwnership;
  state_.owners["t"] = "bob";
  head_.headers = {{"authorization", "Bearer nonsense"}};
  GuardOutcome outcome = Check(nullptr, {Resource::kGraph, Action::kInvoke}, "t");
  EXPECT_FALSE(outcome.refusal.has_value());
  EXPECT_EQ(outcome.caller.scope.kind, state::Scope::Kind::kAll);
  EXPECT_EQ(outcome.caller.user_id, "");
  EXPECT_EQ(*outcome.caller.user, json::object());
  EXPECT_FALSE(guard_->CheckThread({head_, cancellation_, {Resource::kGraph, Action::kInvoke}},
                                   json::object(), "t", outcome.caller));
  EXPECT_EQ(state_.reads, 0);
}

class NginxUserTest : public GuardTest {
 protected:
  NginxUserTest() {
    settings_.authentication.method = AuthenticationSettings::Method::kNginx;
    settings_.authorization.policy = Policy::kOwnership;
    head_.method = "POST";
    head_.user = "alice";
  }
  GuardOutcome CheckUser(bool websocket = false) {
    return Check(nullptr, {Resource::kGraph, Action::kInvoke}, "", websocket);
  }
};

TEST_F(NginxUserTest, IsTheCaller) {
  head_.headers = {{"authorization", "Basic eDp5"}, {"user", "bob"}, {"agent_graph_user", "bob"}};
  head_.user_claims = R"({"user_id": "bob", "authz": {"scope": "none"}, "team": "blue"})";
  const GuardOutcome outcome = CheckUser();
  ASSERT_FALSE(outcome.refusal.has_value());
  EXPECT_EQ(outcome.caller.user_id, "alice");
  EXPECT_EQ(outcome.caller.scope.user_id, "alice");
  EXPECT_EQ((*outcome.caller.user)["user_id"], "alice");
  EXPECT_EQ((*outcome.caller.user)["team"], "blue");
  EXPECT_EQ((*outcome.caller.user)["authz"]["scope"], "owner");
}

TEST_F(NginxUserTest, MustBeNamed) {
  head_.user = "";
  EXPECT_EQ(CheckUser().refusal->kind, Kind::kNoCredential);
  for (const std::string& user :
       {std::string(" "), std::string("\t"), std::string("\xff"), std::string(1025, 'x')}) {
    head_.user = user;
    EXPECT_EQ(CheckUser().refusal->kind, Kind::kInvalidToken) << user;
  }
}

TEST_F(NginxUserTest, ClaimsMustBeASmallObject) {
  for (const std::string& claims :
       {std::string(), std::string("[]"), std::string("{"), std::string(R"({"a":1,"a":2})"),
        R"({"a":")" + std::string(16 * 1024, 'x') + R"("})", std::string(40, '[')}) {
    head_.user_claims = claims;
    EXPECT_EQ(CheckUser().refusal->kind, Kind::kInvalidToken) << claims;
  }
}

// Browsers send passwords and cookies for pages of other sites, too.
TEST_F(NginxUserTest, PagesOfOtherSitesMustBeListed) {
  settings_.cors.origins = {"*", "https://app.example"};
  auto allowed = [&](const std::string& origin, bool websocket) {
    head_.headers = {{"host", "Agent.example:8443"}, {"origin", origin}};
    return !CheckUser(websocket).refusal.has_value();
  };
  for (bool websocket : {false, true}) {
    EXPECT_FALSE(allowed("https://evil.example", websocket));
    EXPECT_FALSE(allowed("https://agent.example.evil.example", websocket));
    EXPECT_FALSE(allowed("null", websocket));
    EXPECT_TRUE(allowed("https://agent.example", websocket));
    EXPECT_TRUE(allowed("https://app.example", websocket));
    head_.method = "GET";
  }
  EXPECT_TRUE(allowed("https://evil.example", false));  // it may only read, and CORS forbids that
}

TEST_F(GuardTest, RefusesEveryKindOfBadToken) {
  auto kind = [&](const std::string& authorization) {
    head_.headers = {{"authorization", authorization}};
    return Check(nullptr, {Resource::kGraph, Action::kRead}).refusal->kind;
  };
  EXPECT_EQ(kind(""), Kind::kNoCredential);
  EXPECT_EQ(kind("Basic abc"), Kind::kNoCredential);
  EXPECT_EQ(kind("Bearer a.b.c"), Kind::kInvalidToken);
  EXPECT_EQ(kind("Bearer " + Token({{"exp", UnixSeconds() - 1}})), Kind::kExpiredToken);
  GuardOutcome outcome = Check(nullptr, {Resource::kGraph, Action::kRead});
  ASSERT_EQ(outcome.headers.size(), 1u);
  EXPECT_EQ(outcome.headers[0].first, "WWW-Authenticate");
}

TEST_F(GuardTest, AQueryTokenIsForHandshakesOnly) {
  head_.query = "token=" + Token(json::object());
  EXPECT_EQ(Check(nullptr, {Resource::kGraph, Action::kRead}).refusal->kind, Kind::kNoCredential);
  EXPECT_FALSE(Check(nullptr, {Resource::kGraph, Action::kRead}, "", true).refusal.has_value());
}

TEST_F(GuardTest, ReportsLostKeysWithTheirOwnError) {
  settings_.authentication.jwt.public_key_file = "/nonexistent/key.pem";
  EXPECT_FALSE(Guard::Create(settings_, {}).ok());
  GuardOptions options;
  options.tolerate_lost_keys = true;
  options.warn = [this](const std::string& line) { warnings_.push_back(line); };
  guard_ = Guard::Create(settings_, std::move(options)).value();
  EXPECT_EQ(Check(json::object(), {Resource::kGraph, Action::kRead}).refusal->kind,
            Kind::kUnusableKey);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(GuardTest, EveryPermissionNeedsItsOwnScope) {
  for (const Permission& own : kPermissions) {
    std::string name = ScopeOf(own);
    json others = json::array();
    for (const Permission& other : kPermissions) {
      std::string scope = ScopeOf(other);
      if (scope != name) others.push_back(scope);
    }
    EXPECT_EQ(ResultOf(Check({{"scopes", others}}, own)), "Missing required scope: " + name);
    EXPECT_EQ(ResultOf(Check({{"scopes", {name}}}, own)), "all") << name;
    EXPECT_EQ(ResultOf(Check({{"scopes", json::array()}}, own)), "Missing required scope: " + name);
    EXPECT_EQ(ResultOf(Check({{"scopes", {"*"}}}, own)), "Missing required scope: " + name);
  }
}

TEST_F(GuardTest, ScopesThatAreNoListCountAsNone) {
  for (const json& scopes : {json("graph:read"), json(nullptr), json(5), json::object()}) {
    EXPECT_EQ(ResultOf(Check({{"scopes", scopes}}, {Resource::kGraph, Action::kInvoke})), "all")
        << scopes;
  }
}

TEST_F(GuardTest, StampsAuthzOverAForgedOne) {
  json forged = {{"user_id", "root"}, {"scope", "none"}, {"scopes", nullptr}};
  settings_.authorization.policy = Policy::kOwnership;
  GuardOutcome outcome =
      Check({{"authz", forged}, {"team", "a"}, {"scopes", {"graph:read"}}, {"user_id", "alice"}},
            {Resource::kGraph, Action::kRead});
  json user = (*outcome.caller.user);
  EXPECT_EQ(user["team"], "a");
  EXPECT_EQ(user["authz"],
            json({{"user_id", "alice"}, {"scope", "owner"}, {"scopes", {"graph:read"}}}));
  EXPECT_EQ(outcome.caller.user_id, "alice");
}

TEST_F(GuardTest, StampsTheDecisionOfThePolicy) {
  settings_.authorization.policy = Policy::kAllowAll;
  json user = *Check(json::object(), {Resource::kGraph, Action::kRead}).caller.user;
  EXPECT_EQ(user["authz"], json({{"user_id", "alice"}, {"scope", "none"}, {"scopes", nullptr}}));
}

TEST_F(GuardTest, OwnershipDecides) {
  settings_.authorization.policy = Policy::kOwnership;
  state_.owners = {{"mine", "alice"}, {"theirs", "bob"}, {"nobodys", ""}};
  for (Resource resource : {Resource::kGraph, Resource::kCheckpointer}) {
    for (Action action : {Action::kInvoke, Action::kStream, Action::kRead, Action::kDelete}) {
      std::string denied = NotAuthorized({resource, action});
      Permission permission{resource, action};
      json claims = json::object();
      EXPECT_EQ(ResultOf(Check(claims, permission)), "owner alice");
      EXPECT_EQ(ResultOf(Check(claims, permission, "mine")), "owner alice");
      EXPECT_EQ(ResultOf(Check(claims, permission, "mine")), "owner alice") << "remembered";
      EXPECT_EQ(ResultOf(Check(claims, permission, "new")), "owner alice");
      EXPECT_EQ(ResultOf(Check(claims, permission, "theirs")), denied);
      EXPECT_EQ(ResultOf(Check(claims, permission, "nobodys")), denied);
    }
  }
  for (Resource resource : {Resource::kStore, Resource::kFiles, Resource::kConfig}) {
    EXPECT_EQ(ResultOf(Check(json::object(), {resource, Action::kRead}, "theirs")), "owner alice");
  }
}

TEST_F(GuardTest, AFailedLookupDeniesAndAnImpossibleOneAllows) {
  settings_.authorization.policy = Policy::kOwnership;
  state_.failure = Status(StatusCode::kUnavailable, "gone");
  EXPECT_EQ(ResultOf(Check(json::object(), {Resource::kGraph, Action::kRead}, "t")),
            "Not authorized to read graph");
  state_.failure = Status(StatusCode::kNotConfigured, "cannot tell");
  EXPECT_EQ(ResultOf(Check(json::object(), {Resource::kGraph, Action::kRead}, "t")), "owner alice");
}

TEST_F(GuardTest, TheBodysThreadIsCheckedInASecondStep) {
  settings_.authorization.policy = Policy::kOwnership;
  state_.owners = {{"mine", "alice"}, {"theirs", "bob"}};
  GuardOutcome outcome = Check(json::object(), {Resource::kGraph, Action::kInvoke});
  GuardRequest request{head_, cancellation_, {Resource::kGraph, Action::kInvoke}};
  EXPECT_FALSE(guard_->CheckThread(request, json::object(), "mine", outcome.caller));
  EXPECT_FALSE(outcome.caller.remembered);
  EXPECT_FALSE(guard_->CheckThread(request, json::object(), "mine", outcome.caller));
  EXPECT_TRUE(outcome.caller.remembered);
  auto refusal = guard_->CheckThread(request, json::object(), "theirs", outcome.caller);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->kind, Kind::kForbidden);
  EXPECT_EQ(refusal->message, "Not authorized to invoke graph");
}

TEST_F(GuardTest, ConfirmsAStaleAllow) {
  settings_.authorization.policy = Policy::kOwnership;
  state_.owners = {{"t", "alice"}};
  Check(json::object(), {Resource::kCheckpointer, Action::kRead}, "t");
  GuardOutcome outcome = Check(json::object(), {Resource::kCheckpointer, Action::kRead}, "t");
  ASSERT_TRUE(outcome.caller.remembered);
  state_.owners = {{"t", "bob"}};
  auto refusal = guard_->Confirm({Resource::kCheckpointer, Action::kRead}, "t", outcome.caller);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->message, "Not authorized to read checkpointer");
  state_.owners.clear();
  EXPECT_FALSE(guard_->Confirm({Resource::kCheckpointer, Action::kRead}, "t", outcome.caller));
}

// A cached owner needs no read; after an eviction it must be read again.
TEST_F(GuardTest, ADeletedThreadsOwnerIsReadAgain) {
  settings_.authorization.policy = Policy::kOwnership;
  Make();
  int reads = 0;
  for (auto evict : {&Guard::Evict, &Guard::Forget}) {
    state_.owners = {{"t", "alice"}, {"other", "alice"}};
    for (const char* thread : {"t", "other", "t", "other"}) {
      EXPECT_EQ(ResultOf(Check(json::object(), {Resource::kGraph, Action::kRead}, thread)),
                "owner alice");
    }
    reads = state_.reads;
    (guard_.get()->*evict)("t");
    Check(json::object(), {Resource::kGraph, Action::kRead}, "other");
    EXPECT_EQ(state_.reads, reads);
    EXPECT_FALSE(Check(json::object(), {Resource::kGraph, Action::kRead}, "t").caller.remembered);
    EXPECT_EQ(state_.reads, reads + 1);
    (guard_.get()->*evict)("t");
    state_.owners = {{"t", "bob"}};
    EXPECT_EQ(ResultOf(Check(json::object(), {Resource::kGraph, Action::kRead}, "t")),
              "Not authorized to read graph");
    (guard_.get()->*evict)("t");
    (guard_.get()->*evict)("other");
  }
}

TEST_F(GuardTest, RolesGrantScopes) {
  AuthorizationSettings& authorization = settings_.authorization;
  authorization.policy = Policy::kRoles;
  authorization.roles = {
      {"admin", {"*"}}, {"reader", {"graph:read"}}, {"runner", {"graph:read", "graph:invoke"}}};
  const char* kMissing = "Missing required scope: graph:invoke";
  Permission invoke{Resource::kGraph, Action::kInvoke};
  EXPECT_EQ(ResultOf(Check({{"roles", {"admin"}}}, invoke)), "owner alice");
  EXPECT_EQ(ResultOf(Check({{"role", "admin"}}, invoke)), "owner alice");
  EXPECT_EQ(ResultOf(Check({{"roles", "runner"}}, invoke)), "owner alice");
  EXPECT_EQ(ResultOf(Check({{"roles", {"reader", "runner"}}}, invoke)), "owner alice");
  EXPECT_EQ(ResultOf(Check({{"role", "reader"}, {"roles", {"runner"}}}, invoke)), "owner alice");
  EXPECT_EQ(ResultOf(Check({{"roles", {"reader"}}}, invoke)), kMissing);
  EXPECT_EQ(ResultOf(Check({{"roles", {"unknown", 5, nullptr}}}, invoke)), kMissing);
  EXPECT_EQ(ResultOf(Check(json::object(), invoke)), kMissing);
  // The token's own scopes do not count if roles define the permissions.
  EXPECT_EQ(ResultOf(Check({{"scopes", {"graph:invoke"}}}, invoke)), kMissing);
  authorization.default_scopes = {"graph:invoke"};
  EXPECT_EQ(ResultOf(Check({{"roles", {"unknown"}}}, invoke)), "owner alice");
}

TEST_F(GuardTest, RolesIsolateByOwnerByDefault) {
  settings_.authorization.policy = Policy::kRoles;
  settings_.authorization.default_scopes = {"*"};
  state_.owners = {{"theirs", "bob"}};
  EXPECT_EQ(ResultOf(Check(json::object(), {Resource::kGraph, Action::kRead}, "theirs")),
            "Not authorized to read graph");
  settings_.authorization.isolate_by_owner = false;
  GuardOutcome outcome = Check(json::object(), {Resource::kGraph, Action::kRead}, "theirs");
  EXPECT_EQ(ResultOf(outcome), "all");
  EXPECT_EQ(outcome.caller.user_id, "alice");
  EXPECT_EQ((*outcome.caller.user)["authz"]["scopes"], json({"*"}));
}

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

// --- stored runs --------------------------------------------------------------------------------

class StoredRunTest : public GuardTest {
 protected:
  Status Authorize(const json& user, const std::string& thread_id = "",
                   Permission permission = {Resource::kGraph, Action::kInvoke}) {
    if (guard_ == nullptr) Make();
    const json config = json::object();
    const std::string user_id = user.value("user_id", "");
    return guard_->AuthorizeStored({user, user_id, permission, thread_id, config, cancellation_});
  }
  static json Stored(const json& scopes) {
    return {{"user_id", "alice"}, {"authz", {{"user_id", "alice"}, {"scopes", scopes}}}};
  }
};

TEST_F(StoredRunTest, TheGrantedScopesStillHold) {
  settings_.authorization.policy = Policy::kOwnership;
  EXPECT_TRUE(Authorize(Stored(nullptr)).ok());
  EXPECT_TRUE(Authorize(Stored({"graph:invoke"})).ok());
  EXPECT_EQ(Authorize(Stored({"graph:stream"})).code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(Authorize(Stored({"graph:stream"}), "", {Resource::kGraph, Action::kStream}).ok());
}

TEST_F(StoredRunTest, RolesThatAreStoredAreLookedUpAgain) {
  settings_.authorization.policy = Policy::kRoles;
  settings_.authorization.roles = {{"reader", {"graph:read"}}};
  json user = Stored({"graph:invoke"});
  EXPECT_TRUE(Authorize(user).ok()) << "the roles are not stored: what was granted counts";
  user["roles"] = {"reader"};
  EXPECT_EQ(Authorize(user).code(), StatusCode::kPermissionDenied);
}

TEST_F(StoredRunTest, WithoutAuthenticationEverythingIsAllowed) {
  settings_.authentication.method = AuthenticationSettings::Method::kNone;
  EXPECT_TRUE(Authorize(json::object()).ok());
}

}  // namespace
}  // namespace agent_graph::auth
