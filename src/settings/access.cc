#include "settings/access.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent_graph/json.h"
#include "base/json.h"
#include "net/redis.h"
#include "settings/short_secret.h"

namespace agent_graph::settings {
namespace {

using Policy = AuthorizationSettings::Policy;

constexpr std::string_view kAlgorithms =
    "HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA";

std::string Variable(const Environment& environment, std::string_view name) {
  auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

bool IsAlgorithm(std::string_view name) {
  for (std::string_view rest = kAlgorithms;;) {
    size_t comma = rest.find(", ");
    if (rest.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 2);
  }
}

std::string Resolve(const std::string& path, const std::string& directory) {
  return path.empty() || path[0] == '/' ? path : directory + "/" + path;
}

Status ReadJwt(const Value& value, Settings& settings) {
  AuthenticationSettings& authentication = settings.authentication;
  const Environment& environment = settings.environment;
  authentication.jwt.secret = Variable(environment, "JWT_SECRET_KEY");
  authentication.jwt.algorithm = Variable(environment, "JWT_ALGORITHM");
  if (authentication.jwt.secret.empty()) {
    return value.Error("\"jwt\" needs JWT_SECRET_KEY in the environment");
  }
  if (authentication.jwt.algorithm.empty()) {
    return value.Error("\"jwt\" needs JWT_ALGORITHM in the environment, one of " +
                       std::string(kAlgorithms));
  }
  // The text is not quoted in the error: a user who confuses the two variables has put the secret
  // into this one.
  if (!IsAlgorithm(authentication.jwt.algorithm)) {
    return value.Error("JWT_ALGORITHM is not one of " + std::string(kAlgorithms));
  }
  authentication.jwt.public_key_file =
      Resolve(Variable(environment, "JWT_PUBLIC_KEY_FILE"), settings.directory);
  authentication.jwt.jwks_file =
      Resolve(Variable(environment, "JWT_JWKS_FILE"), settings.directory);
  bool secret_counts = authentication.jwt.algorithm.starts_with("HS") &&
                       authentication.jwt.jwks_file.empty() &&
                       authentication.jwt.public_key_file.empty();
  if (secret_counts) {
    if (auto problem =
            ShortSecretProblem(authentication.jwt.algorithm, authentication.jwt.secret)) {
      settings.warnings.push_back("JWT_SECRET_KEY: " + *problem);
    }
  }
  authentication.method = AuthenticationSettings::Method::kJwt;
  return Status::Ok();
}

bool IsIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The keys of an `authorization` object as written. Aliases are kept apart until all keys are read.
struct RolesBlock {
  std::string backend;
  std::map<std::string, std::vector<std::string>> roles;
  std::vector<std::string> default_scopes;
  bool isolate_by_owner = true;
  bool has_backend = false;
  bool has_roles = false;
};

Status ReadBackendName(const Value& value, RolesBlock& block) {
  static constexpr std::array<std::string_view, 3> kNames = {"rbac", "role_based", "roles"};
  if (block.has_backend) return value.Error("backend and type are two names of one key");
  block.has_backend = true;
  size_t index = 0;
  return value.ReadName(kNames, index);
}

Status ReadRoles(const Value& value, RolesBlock& block) {
  if (block.has_roles) return value.Error("roles and role_scopes are two names of one key");
  block.has_roles = true;
  AG_RETURN_IF_ERROR(value.CheckObject());
  for (const std::string& role : value.Keys()) {
    AG_RETURN_IF_ERROR(value.Member(role).ReadStrings(block.roles[role]));
  }
  return Status::Ok();
}

// Every value except "none" selects the stricter of the two modes.
Status ReadIsolation(const Value& value, RolesBlock& block) {
  std::string text;
  if (value.IsString()) AG_RETURN_IF_ERROR(value.ReadString(text));
  block.isolate_by_owner = text != "none";
  return Status::Ok();
}

constexpr Key<RolesBlock> kRolesKeys[] = {
    {"backend", ReadBackendName},
    {"type", ReadBackendName},
    {"roles", ReadRoles},
    {"role_scopes", ReadRoles},
    {"default_scopes",
     [](const Value& v, RolesBlock& b) {
       return v.IsNull() ? Status::Ok() : v.ReadStrings(b.default_scopes);
     }},
    {"isolation", ReadIsolation},
};

Status ReadRolesBlock(const Value& value, AuthorizationSettings& authorization) {
  RolesBlock block;
  AG_RETURN_IF_ERROR(ReadObject(value, kRolesKeys, block));
  if (!block.has_backend) {
    return value.Error("needs a backend: rbac, role_based or roles");
  }
  authorization.policy = Policy::kRoles;
  authorization.roles = std::move(block.roles);
  authorization.default_scopes = std::move(block.default_scopes);
  authorization.isolate_by_owner = block.isolate_by_owner;
  return Status::Ok();
}

// Warnings for MODE=production, because such a service may face the internet.
void WarnAboutProduction(Settings& settings) {
  if (settings.authentication.method == AuthenticationSettings::Method::kNone) {
    settings.warnings.emplace_back(
        "auth: MODE is production and callers are not authenticated, so every caller may do "
        "everything; "
        "set \"jwt\", \"nginx\" or a custom backend");
  }
  if (std::ranges::count(settings.cors.origins, "*") > 0) {
    settings.warnings.emplace_back(
        "cors: MODE is production and pages of every origin may call; list yours in cors.origins");
  }
  if (!settings.rate_limit) {
    settings.warnings.emplace_back(
        "rate_limit: MODE is production and no limit is set, so one caller can use up the service");
  }
}

// An empty text, for example from ${NAME:-}, means that no Redis is configured.
Status ReadRedisUrl(const Value& value, RedisSettings& redis) {
  AG_RETURN_IF_ERROR(value.ReadString(redis.url));
  if (redis.url.empty()) return Status::Ok();
  const Status usable = net::ParseRedisUrl(redis.url).status();
  return usable.ok() ? usable : value.Error(usable.message());
}

}  // namespace

Status ReadExport(const Value& value, const std::string& directory, bool documents_too,
                  ExportSettings& out) {
  std::string text;
  AG_RETURN_IF_ERROR(value.ReadString(text));
  size_t colon = text.rfind(':');
  std::string module = text.substr(0, colon);
  const std::string form = documents_too
                               ? "must be <module>:<attribute>, such as graphs/support.so:app"
                               : "must be <module>:<attribute>, such as auth/api_keys.so:ApiKeys";
  if (colon == std::string::npos || module.empty() || !IsIdentifier(text.substr(colon + 1))) {
    const bool has_blank = text.find_first_of(" \t\r\n") != std::string::npos;
    return value.Error(form + (has_blank ? ", without blanks" : ""));
  }
  bool file = module.ends_with(".so") || (documents_too && module.ends_with(".json"));
  if (!file) {
    if (module.ends_with(".cc") || module.ends_with(".cpp")) {
      return value.Error(module + " is source code: compile it, and name the .so file");
    }
    const std::string advice = documents_too ? "write the graph in JSON or C++ (docs/sdk.md)"
                                             : "write it in C++ (docs/sdk.md)";
    if (module.ends_with(".py")) {
      return value.Error(module + " is Python, which the service does not execute: " + advice);
    }
    if (module.ends_with(".yaml") || module.ends_with(".yml") || module.ends_with(".ts") ||
        module.ends_with(".js")) {
      return value.Error(module + " cannot be read: " + advice);
    }
    if (documents_too && access(Resolve(module + ".json", directory).c_str(), F_OK) == 0) {
      return value.Error("the file needs its ending: " + module + ".json" + text.substr(colon));
    }
    if (module.find(':') != std::string::npos) return value.Error(form);
    if (module.find('/') != std::string::npos) {
      return value.Error(
          documents_too
              ? "the module is a .so or .json file, or a dotted name such as graphs.support"
              : "the module is a .so file, or a dotted name such as auth.api_keys");
    }
    std::ranges::replace(module, '.', '/');
    module += ".so";
  }
  out.module = Resolve(module, directory);
  out.attribute = text.substr(colon + 1);
  return Status::Ok();
}

Status ReadAuthentication(const Value& value, Settings& settings) {
  static constexpr std::string_view kForms =
      "must be null, \"jwt\", \"nginx\" or {\"method\": \"custom\", \"path\": "
      "\"<module>:<class>\"}";
  if (value.IsNull()) return Status::Ok();
  if (value.IsString()) {
    std::string name;
    AG_RETURN_IF_ERROR(value.ReadString(name));
    if (name == "jwt") return ReadJwt(value, settings);
    if (name != "nginx") return value.Error(std::string(kForms));
    settings.authentication.method = AuthenticationSettings::Method::kNginx;
    return Status::Ok();
  }
  const std::vector<std::string> keys = value.Keys();
  const auto has = [&](std::string_view key) { return std::ranges::count(keys, key) > 0; };
  const bool is_jwt = has("method") && *value.node().find("method") == "jwt";
  for (std::string_view key : {"secret", "secret_key", "jwt_secret_key", "algorithm"}) {
    if (is_jwt && has(key)) {
      return value.Error(
          "\"" + std::string(key) +
          "\" is not written here: the environment, or the file that \"env\" names, has "
          "JWT_SECRET_KEY and JWT_ALGORITHM");
    }
  }
  // The key `path` names a class, which only the custom method has. A sample (see Shape) may lack
  // both keys.
  const bool complete = has("method") && has("path") != is_jwt;
  if (!complete && value.shape() == nullptr) return value.Error(std::string(kForms));
  static constexpr Key<Settings> kKeys[] = {
      {"method",
       [](const Value& v, Settings& s) {
         using Method = AuthenticationSettings::Method;
         static constexpr Choice<Method> kMethods[] = {{"custom", Method::kCustom},
                                                       {"jwt", Method::kJwt}};
         return v.ReadChoice(kMethods, s.authentication.method);
       }},
      {"path",
       [](const Value& v, Settings& s) {
         return ReadExport(v, s.directory, false, s.authentication.backend);
       }},
      {"persist_claims",
       [](const Value& v, Settings& s) { return v.ReadStrings(s.authentication.persist_claims); }},
  };
  AG_RETURN_IF_ERROR(ReadObject(value, kKeys, settings));
  return is_jwt ? ReadJwt(value, settings) : Status::Ok();
}

Status ReadAuthorization(const Value& value, Settings& settings) {
  static constexpr std::string_view kForms =
      "is not one of ownership, allow_all, default, none, <module>:<attribute>";
  AuthorizationSettings& authorization = settings.authorization;
  if (value.IsNull()) return Status::Ok();
  authorization.chosen = true;
  if (!value.IsString()) return ReadRolesBlock(value, authorization);
  std::string name;
  AG_RETURN_IF_ERROR(value.ReadString(name));
  if (name == "ownership") {
    authorization.policy = Policy::kOwnership;
  } else if (name == "allow_all" || name == "default" || name == "none") {
    authorization.policy = Policy::kAllowAll;
  } else if (name.find(':') != std::string::npos) {
    AG_RETURN_IF_ERROR(ReadExport(value, settings.directory, false, authorization.backend));
    authorization.policy = Policy::kCustom;
  } else {
    return value.Error(DumpJson(value.node()) + " " + std::string(kForms));
  }
  return Status::Ok();
}

Status ReadRedis(const Value& value, Settings& settings) {
  return ReadRedisBlock(value, settings.redis);
}

Status ReadRedisBlock(const Value& value, RedisSettings& redis) {
  static constexpr Key<RedisSettings> kKeys[] = {
      {"url", ReadRedisUrl},
      {"prefix", [](const Value& v, RedisSettings& r) { return v.ReadString(r.prefix); }},
  };
  if (value.IsNull()) return Status::Ok();
  if (value.IsString()) return ReadRedisUrl(value, redis);
  AG_RETURN_IF_ERROR(ReadObject(value, kKeys, redis));
  return redis.url.empty() ? value.Error("needs a url") : Status::Ok();
}

void ApplyModeToAccess(Settings& settings) {
  settings.authorization.policy =
      settings.mode == Mode::kProduction ? Policy::kOwnership : Policy::kAllowAll;
  settings.redis.url = Variable(settings.environment, "REDIS_URL");
}

// If nginx authenticates users, the default is that users see only their own rows, in every mode.
void CompleteAccess(Settings& settings) {
  if (settings.authentication.method == AuthenticationSettings::Method::kNginx &&
      !settings.authorization.chosen) {
    settings.authorization.policy = Policy::kOwnership;
  }
}

void WarnAboutAccess(Settings& settings) {
  if (settings.mode == Mode::kProduction) WarnAboutProduction(settings);
  const AuthorizationSettings& authorization = settings.authorization;
  bool by_owner = authorization.policy == Policy::kOwnership ||
                  (authorization.policy == Policy::kRoles && authorization.isolate_by_owner);
  const bool anonymous = settings.authentication.method == AuthenticationSettings::Method::kNone;
  if (anonymous && authorization.chosen && authorization.policy == Policy::kOwnership) {
    settings.warnings.emplace_back(
        "authorization: without auth all callers are the same user, so \"ownership\" keeps nobody "
        "apart; set auth");
  }
  if (anonymous &&
      (authorization.policy == Policy::kCustom || authorization.policy == Policy::kRoles)) {
    settings.warnings.emplace_back(
        "authorization: without auth every request is allowed and this is not used; set auth");
  }
  if (anonymous || !by_owner) return;
  if (settings.checkpointer.type == CheckpointerSettings::Type::kNone) {
    settings.warnings.emplace_back(
        "authorization: without a checkpointer threads have no owners, so callers may "
        "access every thread");
  } else if (settings.checkpointer.type == CheckpointerSettings::Type::kPostgres &&
             settings.redis.url.empty()) {
    settings.warnings.emplace_back(
        "redis: not configured, so each worker of each host caches the owners of threads for "
        "itself");
  }
}

}  // namespace agent_graph::settings
