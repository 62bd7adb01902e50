#include "settings/access.h"

#include <gtest/gtest.h>

namespace agent_graph::settings {
namespace {

constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";
const Environment kJwt = {{"JWT_SECRET_KEY", kSecret}, {"JWT_ALGORITHM", "HS256"}};

Result<Settings> LoadMember(const std::string& member, const Environment& environment = kJwt) {
  return Load("/etc/agent/service.json", R"({"agent": "g.so:app", )" + member + "}", environment);
}

Environment Without(const std::string& name) {
  Environment environment = kJwt;
  environment.erase(name);
  return environment;
}

TEST(Access, IsOpenByDefault) {
  Result<Settings> settings = LoadMember(R"("auth": null, "authorization": null)", {});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->authentication.method, AuthenticationSettings::Method::kNone);
  EXPECT_EQ(settings->authorization.policy, AuthorizationSettings::Policy::kAllowAll);
  EXPECT_EQ(settings->redis.url, "");
  EXPECT_TRUE(settings->warnings.empty());
}

// If nginx authenticates users, they see only their own rows unless the settings say otherwise.
TEST(Access, UsersOfNginxAreKeptApartByDefault) {
  Result<Settings> settings = LoadMember(R"("auth": "nginx")", {});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->authentication.method, AuthenticationSettings::Method::kNginx);
  EXPECT_EQ(settings->authorization.policy, AuthorizationSettings::Policy::kOwnership);
  for (const char* keys : {R"("auth": "nginx", "authorization": "allow_all")",
                           R"("authorization": "allow_all", "auth": "nginx")"}) {
    settings = LoadMember(keys, {});
    ASSERT_TRUE(settings.ok());
    EXPECT_EQ(settings->authorization.policy, AuthorizationSettings::Policy::kAllowAll);
  }
}

TEST(Access, WarnsOfRisksInProduction) {
  const Environment production = {{"MODE", "production"}};
  const std::string safe = R"("auth": "nginx", "authorization": "allow_all",
      "cors": {"origins": ["https://a.example"]}, "rate_limit": {"requests": 1, "window": 1})";
  EXPECT_TRUE(LoadMember(safe, production)->warnings.empty());
  const auto warnings = LoadMember(R"("auth": null)", production)->warnings;
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_TRUE(warnings[0].starts_with("auth: MODE is production"));
  EXPECT_TRUE(warnings[1].starts_with("cors: MODE is production"));
  EXPECT_TRUE(warnings[2].starts_with("rate_limit: MODE is production"));
  EXPECT_TRUE(LoadMember(R"("auth": null)", {})->warnings.empty());
}

TEST(Access, TakesTheTokenSettingsFromTheEnvironment) {
  Environment environment = kJwt;
  environment["JWT_PUBLIC_KEY_FILE"] = "keys/public.pem";
  environment["JWT_JWKS_FILE"] = "/keys/set.json";
  Result<Settings> settings = LoadMember(R"("auth": "jwt")", environment);
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->authentication.method, AuthenticationSettings::Method::kJwt);
  EXPECT_EQ(settings->authentication.jwt.secret, kSecret);
  EXPECT_EQ(settings->authentication.jwt.algorithm, "HS256");
  EXPECT_EQ(settings->authentication.jwt.public_key_file, "/etc/agent/keys/public.pem");
  EXPECT_EQ(settings->authentication.jwt.jwks_file, "/keys/set.json");
}

// Both variables are required, even if key files are configured.
TEST(Access, NeedsSecretAndAlgorithm) {
  for (std::string name : {"JWT_SECRET_KEY", "JWT_ALGORITHM"}) {
    for (bool empty : {false, true}) {
      Environment environment = Without(name);
      environment["JWT_JWKS_FILE"] = "/keys/set.json";
      if (empty) environment[name] = "";
      Result<Settings> settings = LoadMember(R"("auth": "jwt")", environment);
      ASSERT_FALSE(settings.ok()) << name;
      EXPECT_TRUE(settings.status().message().starts_with("auth: \"jwt\" needs " + name))
          << settings.status().message();
    }
  }
}

TEST(Access, DoesNotQuoteAnUnknownAlgorithm) {
  Environment environment = kJwt;
  environment["JWT_ALGORITHM"] = "my-secret";
  Result<Settings> settings = LoadMember(R"("auth": "jwt")", environment);
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().message().find("my-secret"), std::string::npos);
  EXPECT_NE(settings.status().message().find("HS256"), std::string::npos);
}

TEST(Access, AnObjectNamesTheClaimsThatAreStoredWithRuns) {
  Result<Settings> settings =
      LoadMember(R"("auth": {"method": "jwt", "persist_claims": ["tenant", "plan"]})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->authentication.method, AuthenticationSettings::Method::kJwt);
  EXPECT_EQ(settings->authentication.jwt.secret, kSecret);
  EXPECT_EQ(settings->authentication.persist_claims, (std::vector<std::string>{"tenant", "plan"}));
}

struct ErrorCase {
  const char* member;
  const char* message;
};

constexpr char kForms[] =
    "auth: must be null, \"jwt\", \"nginx\" or {\"method\": \"custom\", \"path\": "
    "\"<module>:<class>\"}";

class AccessErrors : public testing::TestWithParam<ErrorCase> {};

TEST_P(AccessErrors, NameTheKeyAndTheValidValues) {
  Result<Settings> settings = LoadMember(GetParam().member);
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, AccessErrors,
    testing::Values(
        ErrorCase{R"("auth": "basic")", kForms}, ErrorCase{R"("auth": true)", kForms},
        ErrorCase{R"("auth": {"method": "custom"})", kForms},
        ErrorCase{R"("auth": {"path": "a.so:B"})", kForms},
        ErrorCase{R"("auth": {"method": "jwt", "path": "a.so:B"})", kForms},
        ErrorCase{R"("auth": {"method": "ldap", "path": "a.so:B"})",
                  "auth.method: \"ldap\" is not one of custom, jwt"},
        ErrorCase{R"("auth": {"method": "custom", "path": "a.so:B", "persist_claims": 5})",
                  "auth.persist_claims: must be an array of strings"},
        ErrorCase{R"("auth": {"method": "custom", "path": "a.so"})",
                  "auth.path: must be <module>:<attribute>, such as auth/api_keys.so:ApiKeys"},
        ErrorCase{R"("auth": {"method": "custom", "path": "a/b.py:C"})",
                  "auth.path: a/b.py is Python, which the service does not execute: write it in "
                  "C++ (docs/sdk.md)"},
        ErrorCase{R"("auth": {"method": "custom", "path": "a/b.js:C"})",
                  "auth.path: a/b.js cannot be read: write it in C++ (docs/sdk.md)"},
        ErrorCase{R"("auth": {"method": "custom", "path": "a/b:C"})",
                  "auth.path: the module is a .so file, or a dotted name such as auth.api_keys"},
        ErrorCase{R"("auth": {"method": "custom", "path": "a.so:B", "key": 1})",
                  "auth.key: unknown key; known here are method, path, persist_claims"},
        ErrorCase{R"("authorization": "owner")",
                  "authorization: \"owner\" is not one of ownership, allow_all, default, none, "
                  "<module>:<attribute>"},
        ErrorCase{R"("authorization": 5)",
                  "authorization: must be an object with keys such as backend, type, roles or "
                  "role_scopes"},
        ErrorCase{R"("authorization": {})",
                  "authorization: needs a backend: rbac, role_based or roles"},
        ErrorCase{R"("authorization": {"backend": "acl"})",
                  "authorization.backend: \"acl\" is not one of rbac, role_based, roles"},
        ErrorCase{R"("authorization": {"type": "ownership"})",
                  "authorization.type: \"ownership\" is not one of rbac, role_based, roles"},
        ErrorCase{R"("authorization": {"type": "rbac", "backend": "rbac"})",
                  "authorization.backend: backend and type are two names of one key"},
        ErrorCase{R"("authorization": {"type": "rbac", "roles": {"a": 5}})",
                  "authorization.roles.a: must be an array of strings"},
        ErrorCase{R"("redis": {"prefix": "x"})", "redis: needs a url"},
        ErrorCase{R"("redis": "http://h")", "redis: must start with redis:// or unix://"},
        ErrorCase{R"("redis": "redis://h:99999")", "redis: has a port that is not one"},
        ErrorCase{R"("redis": {"url": "rediss://h"})",
                  "redis.url: asks for TLS, which is not available in this build"},
        ErrorCase{R"("redis": 5)", "redis: must be an object with keys such as url or prefix"}));

TEST(Access, ReadsACustomBackend) {
  Result<Settings> settings = LoadMember(
      R"("auth": {"method": "custom", "path": "auth.keys:Keys"}, "authorization": "z/a.so:P")", {});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->authentication.method, AuthenticationSettings::Method::kCustom);
  EXPECT_EQ(settings->authentication.backend.module, "/etc/agent/auth/keys.so");
  EXPECT_EQ(settings->authentication.backend.attribute, "Keys");
  EXPECT_EQ(settings->authorization.policy, AuthorizationSettings::Policy::kCustom);
  EXPECT_EQ(settings->authorization.backend.module, "/etc/agent/z/a.so");
}

TEST(Access, IsolatesOwnersInProductionByDefault) {
  using Policy = AuthorizationSettings::Policy;
  const Environment production = {{"MODE", "production"}};
  auto policy = [](const std::string& member, const Environment& environment) {
    return LoadMember(member, environment)->authorization.policy;
  };
  EXPECT_EQ(policy(R"("auth": null)", production), Policy::kOwnership);
  EXPECT_EQ(policy(R"("authorization": null)", production), Policy::kOwnership);
  EXPECT_EQ(policy(R"("authorization": "allow_all")", production), Policy::kAllowAll);
  EXPECT_EQ(policy(R"("authorization": "none")", production), Policy::kAllowAll);
  EXPECT_EQ(policy(R"("authorization": "default")", production), Policy::kAllowAll);
  EXPECT_EQ(policy(R"("authorization": "ownership")", {}), Policy::kOwnership);
  EXPECT_EQ(policy(R"("auth": null)", {}), Policy::kAllowAll);
}

TEST(Access, ReadsRolesUnderEitherName) {
  for (const char* block :
       {R"({"backend": "rbac", "roles": {"a": ["graph:read"]}, "default_scopes": ["config:read"],
            "isolation": "none"})",
        R"({"type": "role_based", "role_scopes": {"a": "graph:read"},
            "default_scopes": "config:read", "isolation": "none"})",
        R"({"type": "roles", "role_scopes": {"a": ["graph:read"]},
            "default_scopes": ["config:read"], "isolation": "none"})"}) {
    Result<Settings> settings = LoadMember(std::string(R"("authorization": )") + block);
    ASSERT_TRUE(settings.ok()) << settings.status().ToString();
    EXPECT_EQ(settings->authorization.policy, AuthorizationSettings::Policy::kRoles);
    EXPECT_EQ(settings->authorization.roles.at("a"), std::vector<std::string>{"graph:read"});
    EXPECT_EQ(settings->authorization.default_scopes, std::vector<std::string>{"config:read"});
    EXPECT_FALSE(settings->authorization.isolate_by_owner);
  }
}

TEST(Access, AnyOtherIsolationMeansOwner) {
  for (const char* isolation : {"\"owner\"", "\"all\"", "null", "5"}) {
    Result<Settings> settings = LoadMember(
        std::string(R"("authorization": {"backend": "rbac", "isolation": )") + isolation + "}");
    ASSERT_TRUE(settings.ok()) << isolation << settings.status().ToString();
    EXPECT_TRUE(settings->authorization.isolate_by_owner) << isolation;
  }
}

TEST(Access, RedisComesFromTheDocumentOrTheEnvironment) {
  const Environment environment = {{"REDIS_URL", "redis://env"}};
  EXPECT_EQ(LoadMember(R"("auth": null)", environment)->redis.url, "redis://env");
  EXPECT_EQ(LoadMember(R"("redis": null)", environment)->redis.url, "redis://env");
  EXPECT_EQ(LoadMember(R"("redis": "redis://file")", environment)->redis.url, "redis://file");
  Result<Settings> settings =
      LoadMember(R"("redis": {"url": "${REDIS_URL}/1", "prefix": "p"})", environment);
  EXPECT_EQ(settings->redis.url, "redis://env/1");
  EXPECT_EQ(settings->redis.prefix, "p");
}

TEST(Access, WarnsOnceAboutCachesOfSeveralHosts) {
  const auto warnings = [](const std::string& members) {
    return LoadMember(R"("auth": "jwt")" + members).value().warnings;
  };
  const std::string hosts = R"(, "checkpointer": {"type": "postgres", "url": "postgresql://h/d"})";
  const std::string ownership = R"(, "authorization": "ownership")";
  ASSERT_EQ(warnings(ownership + hosts).size(), 1u);
  EXPECT_TRUE(warnings(ownership + hosts)[0].starts_with("redis: "));
  EXPECT_TRUE(warnings(ownership + hosts + R"(, "redis": "redis://h")").empty());
  EXPECT_TRUE(warnings(R"(, "authorization": "allow_all")" + hosts).empty());
  EXPECT_TRUE(warnings(ownership).empty());
  ASSERT_EQ(warnings(ownership + R"(, "checkpointer": null)").size(), 1u);
  EXPECT_TRUE(warnings(ownership + R"(, "checkpointer": null)")[0].starts_with(
      "authorization: without a checkpointer"));
}

TEST(Access, WarnsAboutAShortSecret) {
  Environment environment = kJwt;
  const auto warnings = [&](const char* algorithm, const char* secret) {
    environment["JWT_ALGORITHM"] = algorithm;
    environment["JWT_SECRET_KEY"] = secret;
    return LoadMember(R"("auth": "jwt")", environment).value().warnings;
  };
  EXPECT_EQ(warnings("HS256", kSecret), std::vector<std::string>());
  EXPECT_EQ(warnings("HS256", "guessed"),
            std::vector<std::string>{
                "JWT_SECRET_KEY: is shorter than the 32 bytes that HS256 needs to be safe"});
  EXPECT_EQ(warnings("HS512", kSecret),
            std::vector<std::string>{
                "JWT_SECRET_KEY: is shorter than the 64 bytes that HS512 needs to be safe"});
}

}  // namespace
}  // namespace agent_graph::settings
