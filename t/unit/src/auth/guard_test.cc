#include "auth/guard.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "guard_fixture.h"
#include "owners.h"

namespace agent_graph::auth {
namespace {

using settings::AuthorizationSettings;
using Policy = AuthorizationSettings::Policy;

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
    EXPECT_FALSE(allowed("https://agent.example", websocket));
    EXPECT_FALSE(allowed("https://agent.example:8081", websocket));
    EXPECT_TRUE(allowed("https://agent.example:8443", websocket));
    EXPECT_TRUE(allowed("http://agent.example:8443", websocket)) << "no TLS is known";
    EXPECT_TRUE(allowed("https://app.example", websocket));
    head_.https = true;
    EXPECT_FALSE(allowed("http://agent.example:8443", websocket));
    EXPECT_TRUE(allowed("https://agent.example:8443", websocket));
    head_.https = false;
    head_.method = "GET";
  }
  EXPECT_TRUE(allowed("https://evil.example", false));  // it may only read, and CORS forbids that
}

TEST_F(NginxUserTest, TheDefaultPortMayBeWritten) {
  auto allowed = [&](const std::string& host, const std::string& origin) {
    head_.headers = {{"host", host}, {"origin", origin}};
    return !CheckUser().refusal.has_value();
  };
  EXPECT_TRUE(allowed("agent.example", "https://agent.example"));
  EXPECT_TRUE(allowed("agent.example", "http://agent.example"));
  EXPECT_TRUE(allowed("agent.example:443", "https://agent.example"));
  EXPECT_TRUE(allowed("agent.example:80", "http://agent.example"));
  EXPECT_FALSE(allowed("agent.example:80", "https://agent.example"));
  EXPECT_TRUE(allowed("[::1]:8000", "http://[::1]:8000"));
  EXPECT_TRUE(allowed("[::1]", "http://[::1]"));
  EXPECT_FALSE(allowed("[::1]:8000", "http://[::1]"));
  EXPECT_FALSE(allowed("", "http://"));
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
